internal import LonghaulCore

/// Where things stand in the board's file: a header the size of a cell, then the cells.
enum BoardLayout {
    /// Raised whenever the meaning of a word changes; a board of another layout is not read.
    static let version: UInt64 = 2
    /// `LHBOARD` and the version, as one number.
    static let magic: UInt64 = 0x4C48_424F_4152_4400 | version

    static let bytes = 128 * 1024
    /// Places for segments and fetches together.
    static let cellCount = bytes / ProgressCell.size - 1

    // Words of the header.
    static let magicWord = 0
    static let bootWords = (1, 2)

    // Values of a cell's kind.
    static let segment: UInt64 = 1
    static let fetch: UInt64 = 2

    static func cell(_ index: Int, of base: UInt) -> UInt {
        base + UInt(ProgressCell.size * (index + 1))
    }

    static func word(_ index: Int, of cell: UInt) -> UInt {
        cell + UInt(8 * index)
    }
}
