/// A large value behind one reference: a copy of its owner copies a pointer, and not two dozen
/// fields. A copy that is changed while others share the value gets a separate value.
///
/// It is read by its address. Optimised code of Swift 6.3 read a part of the value yielded by a
/// `_read` accessor to another module after the accessor had ended, and freed it.
package struct CopyOnWrite<Value: Sendable>: Sendable {
    private final class Box: Sendable {
        // Written only while one value holds the box.
        nonisolated(unsafe) let address: UnsafeMutablePointer<Value>

        init(_ value: Value) {
            address = .allocate(capacity: 1)
            address.initialize(to: value)
        }

        deinit {
            address.deinitialize(count: 1)
            address.deallocate()
        }
    }

    private var box: Box

    package init(_ value: Value) {
        box = Box(value)
    }

    package var value: Value {
        unsafeAddress { address }
        unsafeMutableAddress {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.address.pointee) }
            return box.address
        }
    }

    /// Address of the value, valid as long as the value is held.
    package var address: UnsafePointer<Value> { UnsafePointer(box.address) }

    /// Compares without reading the value.
    package func isSame(_ other: CopyOnWrite) -> Bool { box === other.box }
}

extension CopyOnWrite: Equatable where Value: Equatable {
    package static func == (left: CopyOnWrite, right: CopyOnWrite) -> Bool {
        left.isSame(right) || left.value == right.value
    }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}

extension Range where Bound: FixedWidthInteger {
    /// The first value that fails the condition, or the end of the range. The condition holds for
    /// none behind it.
    @inlinable
    package func firstPast(_ isBefore: (Bound) -> Bool) -> Bound {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A small generator (splitmix64) that a seed determines: jitter that can be replayed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
