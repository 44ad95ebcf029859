internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Mounts of this process (proc(5), /proc/self/mountinfo). The kernel notifies of changes: poll(2)
/// reports POLLERR and POLLPRI for the open file.
final class MountTable {
    /// A line of the table.
    struct Mount {
        /// Of its id, device and place, since ids are used again.
        let number: Int64
        /// Major and minor number with a colon between.
        let device: String
        let path: String
        let type: String
        /// A path below /dev for a file system on a device.
        let source: String
    }

    static let source = "mountinfo"

    private let file: Descriptor
    private(set) var mounts: [Mount] = []

    /// `nil` = /proc cannot be read.
    init?(_ path: String) {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        file = Descriptor(owning: number)
        refresh()
    }

    var descriptor: Int32 { file.number }

    /// A number for each mount.
    var numbers: Set<Int64> { Set(mounts.map(\.number)) }

    /// Reads the table anew. Returns whether it has changed.
    @discardableResult
    func refresh() -> Bool {
        guard lseek(file.number, 0, SEEK_SET) == 0 else { return false }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = uninterrupted { Glibc.read(file.number, &buffer, buffer.count) }
            if count <= 0 { break }
            text += buffer[..<count]
        }
        let before = numbers
        mounts = text.split(separator: UInt8(ascii: "\n")).compactMap { MountTable.mount($0) }
        return numbers != before
    }

    /// The id, the parent's id, the device, the root and the mount point come first; after a dash
    /// the type and the source.
    private static func mount(_ line: ArraySlice<UInt8>) -> Mount? {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count >= 5 else { return nil }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for field in fields.prefix(5) {
            for byte in field { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0x20) &* 0x100_0000_01b3
        }
        let dash = fields.firstIndex { $0.elementsEqual([UInt8(ascii: "-")]) }
        func tail(_ offset: Int) -> String {
            dash.flatMap { fields.count > $0 + offset ? unescaped(fields[$0 + offset]) : nil } ?? ""
        }
        return Mount(
            number: Int64(bitPattern: hash), device: String(decoding: fields[2], as: UTF8.self),
            path: unescaped(fields[4]), type: tail(1), source: tail(2))
    }

    /// Spaces, tabs, line feeds and backslashes are octal numbers of three digits.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let number = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(number)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Finds the file systems that requests name among the mounts.
struct NamedMounts {
    /// The root of device files.
    let dev: String
    /// Label and UUID of each mount, by its number: asked for once.
    private var known: [Int64: Set<String>] = [:]

    init(dev: String) {
        self.dev = dev
    }

    /// The directory of each name that is mounted.
    mutating func find(_ names: Set<String>, among mounts: [MountTable.Mount]) -> [String: String] {
        var found: [String: String] = [:]
        let places = names.filter { $0.hasPrefix("/") }
        // An automounter's place is no file system yet.
        for mount in mounts where places.contains(mount.path) && mount.type != "autofs" {
            found[mount.path] = mount.path
        }
        let identifiers = names.subtracting(places)
        if identifiers.isEmpty { return found }
        known = known.filter { entry in mounts.contains { $0.number == entry.key } }
        for mount in mounts where mount.source.hasPrefix("/") {
            let own = known[mount.number] ?? NamedMounts.identifiers(of: mount)
            known[mount.number] = own
            for identifier in identifiers where found[identifier] == nil {
                if own.contains(identifier) || own.contains(identifier.lowercased())
                    || isLinked(identifier, mount)
                {
                    found[identifier] = mount.path
                }
            }
        }
        return found
    }

    /// Label and UUID as the mount itself tells them. A program behind a mount (FUSE) is not asked,
    /// since it may not answer.
    private static func identifiers(of mount: MountTable.Mount) -> Set<String> {
        if mount.type.hasPrefix("fuse") { return [] }
        let number = open(mount.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else { return [] }
        let file = Descriptor(owning: number)
        var identifiers: Set<String> = []
        var label = [CChar](repeating: 0, count: 257)
        if lh_file_system_label(file.number, &label) >= 0 {
            identifiers.insert(
                String(decoding: label.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
        }
        var uuid = [UInt8](repeating: 0, count: 16)
        if lh_file_system_uuid(file.number, &uuid) >= 0 {
            let digits = uuid.map(\.hexPair)
            identifiers.insert(
                [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }
                    .joined(separator: "-"))
        }
        return identifiers
    }

    /// udev's links name the device of the mount.
    private func isLinked(_ identifier: String, _ mount: MountTable.Mount) -> Bool {
        ["by-label", "by-uuid"].contains { kind in
            var facts = stat()
            guard stat("\(dev)/disk/\(kind)/\(Self.linkName(identifier))", &facts) == 0 else {
                return false
            }
            let number = facts.st_rdev
            let major = number >> 8 & 0xfff | number >> 32 & ~0xfff
            let minor = number & 0xff | number >> 12 & ~0xff
            if mount.device == "\(major):\(minor)" { return true }
            // A file system of several devices has a number of its own.
            var source = stat()
            return stat(mount.source, &source) == 0 && source.st_rdev == facts.st_rdev
        }
    }

    /// udev writes characters that are rare in names as `\x20`.
    private static func linkName(_ identifier: String) -> String {
        identifier.utf8.map { byte in
            let isPlain =
                byte.isASCIIDigit || byte.isASCIILetter || byte >= 0x80
                || "#+-.:=@_".utf8.contains(byte)
            return isPlain ? String(decoding: [byte], as: UTF8.self) : "\\x" + byte.hexPair
        }.joined()
    }
}
