extension Range where Bound: FixedWidthInteger {
    /// The first value for which the condition no longer holds, or the end of the range. The
    /// condition holds for none behind it.
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
