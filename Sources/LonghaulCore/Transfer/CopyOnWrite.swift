/// A large value behind one reference: whoever copies what holds it copies a pointer, and not two
/// dozen fields. Still a value: what others hold, too, is never changed under them.
struct CopyOnWrite<Value: Hashable & Sendable>: Hashable, Sendable {
    /// Changed only while nobody else refers to it.
    private final class Box: @unchecked Sendable {
        var value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box

    init(_ value: Value) {
        box = Box(value)
    }

    var value: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }

    static func == (left: CopyOnWrite, right: CopyOnWrite) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(box.value)
    }
}
