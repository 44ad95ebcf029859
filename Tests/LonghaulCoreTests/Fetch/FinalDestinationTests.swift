import LonghaulCore
import Testing

@Suite struct FinalDestinationTests {
    /// A mark put to the slash is of the name behind it.
    @Test(arguments: ["/out/plain", "/out/\u{301}n"])
    func theServersNameIsBesideTheReservedOne(destination: String) {
        var request = TransferRequest(url: "https://h/n", destination: .file(destination))
        var state = FetchState(id: FetchID(rawValue: 1))
        state.proposedName = "new.txt"
        #expect(state.finalDestination(of: request, at: destination) == destination)
        request.options.remoteName = true
        #expect(state.finalDestination(of: request, at: destination) == "/out/new.txt")
    }
}
