/// A name that a part file may have.
package struct PartName: Hashable, Sendable {
    package var text: String
    /// It is no other store's: what is under it and not in use is a leftover of this one.
    package var isOneStores: Bool

    package init(_ text: String, isOneStores: Bool = false) {
        self.text = text
        self.isOneStores = isOneStores
    }

    /// `.NAME.ID.longhaul-part`, with NAME shortened so that the whole is one file name, and what
    /// is taken where that is somebody else's: other stores count their transfers from one as well.
    ///
    /// - Parameters:
    ///   - number: So many that were made for the transfer may be in other hands.
    ///   - store: What tells the store from others.
    package static func all(
        for name: String, id: Int64, number: Int = 0, store: String
    ) -> [PartName] {
        let which = number > 0 ? "\(id)-\(number)" : "\(id)"
        func named(_ middle: String) -> String {
            PathParts.fitted("." + name, suffix: ".\(middle).longhaul-part")
        }
        let tag = store.prefix(tagBytes)
        return [
            PartName(named(which)),
            PartName(named("\(which).\(tag)"), isOneStores: !tag.isEmpty),
            // Where this store has that open itself.
            PartName(named("\(which)b.\(tag)"), isOneStores: !tag.isEmpty),
        ]
    }

    /// Of the store's number, so much is in a name.
    private static let tagBytes = 8
}
