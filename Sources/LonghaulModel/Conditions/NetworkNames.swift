/// Bytes of the name of a network or a file system; connections of NetworkManager have 255.
private let nameBytes = 4096

/// What recognizes a network that was given a name: the hardware address of its gateway, and the
/// prefixes of this machine's addresses.
package struct NetworkPlace: Hashable, Codable, Sendable {
    /// Hexadecimal digits with colons between.
    package var gateway: String
    package var prefixes: Set<String>

    package init(gateway: String, prefixes: Set<String>) {
        self.gateway = gateway
        self.prefixes = prefixes
    }

    /// A link may have several prefixes, which come one after the other.
    package func isSame(as other: NetworkPlace) -> Bool {
        gateway == other.gateway
            && (prefixes == other.prefixes || !prefixes.isDisjoint(with: other.prefixes))
    }
}

/// The names of the network that the machine is on.
package struct NetworkNames: Hashable, Codable, Sendable {
    /// Given by `longhaul network name` or an override, in order; `nil` = unknown, since the
    /// gateway's address is.
    package var given: [String]?
    /// The gateway; `nil` also where an override gives the name.
    package var place: NetworkPlace?
    /// Id and UUID of NetworkManager's connection; empty = none, `nil` = it has not answered.
    package var connection: [String]?

    package init(given: [String]? = nil, connection: [String]? = []) {
        self.given = given
        self.connection = connection
    }

    /// - Parameter known: The networks that were given names.
    package init(place: NetworkPlace?, connection: [String]?, known: [String: NetworkPlace]) {
        self.place = place
        self.connection = connection
        given = place.map { place in
            known.filter { place.isSame(as: $0.value) }.map(\.key).sorted()
        }
    }

    /// They were read, and nothing could be found out.
    static let unknown = NetworkNames(given: nil, connection: nil)

    package var all: Set<String> { Set(given ?? []).union(connection ?? []) }

    /// The name for people; `nil` = it has none.
    package var shown: String? { given?.first ?? connection?.first }

    /// Whether the network is one of those asked for, of which `!NAME` excludes one. `nil` = not
    /// known.
    package func isOne(of networks: Set<String>) -> Bool? {
        let excluded = Set(networks.filter { $0.hasPrefix("!") }.map { String($0.dropFirst()) })
        let wanted = networks.filter { !$0.hasPrefix("!") }
        let isComplete = given != nil
        if !all.isDisjoint(with: excluded) { return false }
        if !wanted.isEmpty, all.isDisjoint(with: wanted) { return isComplete ? false : nil }
        return isComplete || excluded.isEmpty ? true : nil
    }
}

/// The mounted ones among the file systems that requests name.
public struct MountedFileSystems: Hashable, Codable, Sendable {
    /// The directory of each by the name that requests use; an override knows none.
    public var directories: [String: String]
    /// The names that were looked for; `nil` = all there are.
    package var looked: Set<String>?

    /// All others are not mounted.
    public init(_ directories: [String: String] = [:]) {
        self.directories = directories
    }

    package init(_ directories: [String: String], among looked: Set<String>) {
        self.directories = directories
        self.looked = looked
    }

    /// `nil` = it was not looked for.
    package func isMounted(_ name: String) -> Bool? {
        if directories[name] != nil { return true }
        return looked?.contains(name) ?? true ? false : nil
    }

    // MARK: - As text

    var text: String {
        directories.isEmpty ? "none" : directories.keys.sorted().joined(separator: ",")
    }

    init?(parsing text: String) {
        self.init()
        if text == "none" { return }
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let name = MachineName.fileSystem(name) else { return nil }
            directories[name] = name.hasPrefix("/") ? name : ""
        }
    }
}

/// The rules of names in requests. A comma separates needs, and a bar networks.
package enum MachineName {
    /// The mount point, the label or the UUID of a file system as it is compared.
    package static func fileSystem(_ text: some StringProtocol) -> String? {
        guard isPlain(text) else { return nil }
        guard text.contains("/") else { return String(text) }
        return path(text)
    }

    /// The name of a network; without the mark `!`.
    package static func network(_ text: some StringProtocol) -> String? {
        isPlain(text) && !text.hasPrefix("!") && !text.contains(where: { $0 == "|" || $0 == ":" })
            ? String(text) : nil
    }

    /// An absolute path without a bar at its end; `nil` = it is none.
    package static func path(_ text: some StringProtocol) -> String? {
        guard text.hasPrefix("/"), text.utf8.count <= nameBytes else { return nil }
        let parts = text.split(separator: "/")
        if parts.contains(where: { $0 == "." || $0 == ".." }) { return nil }
        return "/" + parts.joined(separator: "/")
    }

    private static func isPlain(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= nameBytes && text != "none" && text != "unknown"
            && !text.utf8.contains { $0 < 0x20 || $0 == 0x7f || $0 == UInt8(ascii: ",") }
    }
}
