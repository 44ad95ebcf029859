extension Failure {
    /// The file that another program has left is not proven to be the beginning of the server's.
    package static func notContinued(_ reason: RestartReason) -> Failure {
        let why =
            switch reason {
            case .overlapDiffers: "its last bytes are not those that the server has there"
            case .rangeNotSatisfiable, .changed(.length), .lengthDisagrees:
                "it is longer than the server's file"
            case .validatorMissing, .nothingToProve, .partialUnusable, .noBytes:
                "the server sends no parts of a file that could prove it"
            case .changed, .preconditionFailed, .codingChanged, .digestDiffers, .partFileMissing,
                .partFileReplaced, .partFileShorter:
                "\(reason)"
            }
        return Failure(
            .permanent,
            LonghaulError(
                .destinationExists,
                "the file that is there cannot be continued: \(why); it was left alone: choose "
                    + "another name, or move it away and leave out --continue"))
    }
}
