/// How a file is cut into parts, and which of them the server has.
struct S3Parts {
    let size: Int64
    private let total: Int64
    /// See ``S3Upload/Kept/partTags``.
    private let tags: [String]

    /// Bytes of a part of a file whose length is unknown: 10,000 of them are 160 GiB.
    private static let growingBytes: Int64 = 16 << 20

    /// - Parameter isGrowing: The file may get more bytes: only whole parts count.
    init(
        _ kept: S3Upload.Kept, _ options: UploadOptions, size total: Int64,
        isGrowing: Bool = false
    ) {
        let usual =
            isGrowing
            ? options.partSize ?? S3Parts.growingBytes : S3Parts.size(options, of: total)
        size = kept.partSize ?? usual
        self.total = isGrowing ? total / size * size : total
        tags = kept.partTags
    }

    /// An upload has at most 10,000 parts, all but the last of 5 MiB at least.
    static func size(_ options: UploadOptions, of total: Int64) -> Int64 {
        let least = (total + 9_999) / 10_000
        let mebibyte: Int64 = 1 << 20
        let rounded = (least + mebibyte - 1) / mebibyte * mebibyte
        return max(options.partSize ?? 8 * mebibyte, rounded)
    }

    var count: Int { Int((total + size - 1) / size) }

    /// Parts are numbered from 1.
    func range(of number: Int) -> Range<Int64> {
        assert((1...count).contains(number), "only parts of the file are sent")
        let start = Int64(number - 1) * size
        return start..<min(total, start + size)
    }

    func isAcknowledged(_ number: Int) -> Bool {
        number <= tags.count && !tags[number - 1].isEmpty
    }

    /// `nil` = the server has all parts that are not under way.
    func firstMissing(besides underWay: Set<Int>) -> Int? {
        (1..<count + 1).first { !isAcknowledged($0) && !underWay.contains($0) }
    }

    /// The bytes that the server has acknowledged.
    var acknowledged: ByteRanges {
        var ranges = ByteRanges()
        var start: Int?
        for number in 1...count + 1 {
            if number <= count, isAcknowledged(number) {
                start = start ?? number
            } else if let first = start {
                ranges.insert(range(of: first).lowerBound..<range(of: number - 1).upperBound)
                start = nil
            }
        }
        return ranges
    }
}

extension S3Upload.Kept {
    /// The server has this part.
    mutating func acknowledge(part number: Int, tag: String) {
        assert(number >= 1 && !tag.isEmpty, "a part that the server has is told by its tag")
        if partTags.count < number {
            partTags += Array(repeating: "", count: number - partTags.count)
        }
        partTags[number - 1] = tag
    }

    /// Replaces the recorded parts with the server's list. A part whose length differs from the
    /// file's does not count.
    mutating func compare(with list: S3PartList, _ parts: S3Parts) {
        let first = (listedThrough ?? 0) + 1
        let last = min(list.next ?? .max, partTags.count)
        if first <= last {
            for number in first...last { partTags[number - 1] = "" }
        }
        for part in list.parts where first <= part.number && part.number <= parts.count {
            let isWhole = part.size == Int64(parts.range(of: part.number).count)
            if isWhole, !part.tag.isEmpty { acknowledge(part: part.number, tag: part.tag) }
        }
        // Parts after the last one do not belong to this file.
        let next = list.next.flatMap { $0 < parts.count ? $0 : nil }
        listedThrough = next
        mustAsk = next != nil
    }
}
