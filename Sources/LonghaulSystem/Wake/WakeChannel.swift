internal import CLonghaul
internal import Glibc

/// Tells the engine of a state directory to look at the store again. Only a hint: with no engine,
/// or with one that has hints enough waiting, nothing happens, and nothing is lost.
package enum WakeChannel {
    /// Never blocks, never fails.
    package static func poke(_ directory: String) {
        guard let address = try? WakeAddress(in: directory),
            let socket = try? WakeAddress.socket(directory)
        else { return }
        var byte: UInt8 = 1
        address.with { target, length in
            _ = sendto(
                socket.number, &byte, 1, Int32(MSG_DONTWAIT | MSG_NOSIGNAL),
                target, length)
        }
    }
}
