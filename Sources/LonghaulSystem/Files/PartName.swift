/// A name that a part file may have.
package struct PartName: Hashable, Sendable {
    package var text: String
    /// It is no other store's: what is under it and not in use is a leftover of this one.
    package var isOneStores: Bool

    package init(_ text: String, isOneStores: Bool = false) {
        self.text = text
        self.isOneStores = isOneStores
    }
}

/// `.NAME.ID.longhaul-part`, with NAME shortened so that the whole is one file name, and what is
/// taken where that is somebody else's: other stores count their transfers from one as well. Each
/// is made when it is looked at, which but for the first hardly any is.
package struct PartNames: RandomAccessCollection, Sendable {
    private let name: String
    private let id: Int64
    private let number: Int
    private let store: String

    /// - Parameters:
    ///   - number: So many that were made for the transfer may be in other hands.
    ///   - store: What tells the store from others.
    package init(for name: String, id: Int64, number: Int = 0, store: String) {
        self.name = name
        self.id = id
        self.number = number
        self.store = store
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { 3 }

    package subscript(index: Int) -> PartName {
        let which = number > 0 ? "\(id)-\(number)" : "\(id)"
        if index == 0 { return PartName(named(which)) }
        let tag = store.prefix(Self.tagBytes)
        // The last one is for where this store has the second open itself.
        let again = index == 1 ? "" : "b"
        return PartName(named("\(which)\(again).\(tag)"), isOneStores: !tag.isEmpty)
    }

    private func named(_ middle: String) -> String {
        PathParts.fitted("." + name, suffix: ".\(middle).longhaul-part")
    }

    /// Of the store's number, so much is in a name.
    private static let tagBytes = 8
}
