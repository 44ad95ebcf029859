/// A large value behind one reference: whoever copies what holds it copies a pointer, and not two
/// dozen fields. What is changed is a new one, for
/// whoever changes it.
package struct CopyOnWrite<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box

    init(_ value: Value) {
        box = Box(value)
    }

    package var value: Value {
        _read { yield box.value }
        _modify {
            var copy = box.value
            defer { box = Box(copy) }
            yield &copy
        }
    }

    /// Without a look at the value.
    package func isSame(_ other: CopyOnWrite) -> Bool { box === other.box }

    package static func == (left: CopyOnWrite, right: CopyOnWrite) -> Bool {
        left.isSame(right) || left.box.value == right.box.value
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(box.value)
    }
}
