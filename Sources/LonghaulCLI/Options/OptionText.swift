import Longhaul

/// Values as they are typed, on the command line and in batch input alike. What is not understood is refused
/// by the name it was given under.
enum OptionText {
    static func size(_ text: String, _ name: String) throws(LonghaulError) -> Int64 {
        guard let bytes = Pending.size(text) else {
            throw bad(text, name, "a size is a number of bytes, or 10K, 10M, 2G, 10MB")
        }
        return bytes
    }

    static func duration(_ text: String, _ name: String) throws(LonghaulError) -> Double {
        guard let seconds = Pending.duration(text) else {
            throw bad(text, name, "a duration is 90s, 15m, 2h or 7d")
        }
        return seconds
    }

    private static func bad(_ text: String, _ name: String, _ what: String) -> LonghaulError {
        .usage("\(name): '\(text)' is not understood; \(what)")
    }
}
