/// Directories that the server of a PUT has not got, where the request asks for them.
extension UploadMachine {
    /// Handles the end of a request to make a directory, and that of a PUT for which one may be
    /// missing. `false` = the end is another one.
    mutating func isAboutDirectories(
        _ ended: ActiveExchange, _ end: SegmentEnd, _ context: FetchContext
    ) -> Bool {
        let exchange = ended.exchange
        if exchange.purpose == .makeDirectory {
            madeDirectory(ended, end, context)
            return true
        }
        guard stage == .moving, mayMissDirectories(exchange),
            let head = ended.head, MissingDirectories.mayBeMissing(head.status),
            let directories = MissingDirectories(of: exchange.url)
        else { return false }
        let refusal = FailureTable.classify(upload: head).quoting(head, end.answer)
        record(.failed(refusal), ended, end, context)
        // A PUT that was refused has left nothing.
        frame.bytes.state.upload?.mayHaveArrived = false
        frame.save()
        course.directories = directories
        course.mayRepeat(exchange)
        send(.makingDirectory(directories.url), context)
        return true
    }

    /// The directories are made once in a run.
    private func mayMissDirectories(_ exchange: UploadExchange) -> Bool {
        guard request.options.upload?.createsDirectories == true, exchange.purpose == .whole,
            exchange.body.method == "PUT", course.directories == nil
        else { return false }
        return state.upload?.progress.isPlain ?? false
    }

    private mutating func madeDirectory(
        _ ended: ActiveExchange, _ end: SegmentEnd, _ context: FetchContext
    ) {
        frame.save()
        guard let head = ended.head, end.failure == nil, var directories = course.directories
        else {
            let failure =
                end.failure.flatMap(FailureTable.classify)
                ?? Failure(.transient, LonghaulError(.network, "the request was broken off"))
            record(.failed(failure), ended, end, context)
            if stage == .moving { return leaveUpload(leaving(after: failure), context) }
            return settleUpload(context)
        }
        let answer = directories.answered(head.status)
        course.directories = directories
        let failure = FailureTable.classify(directory: head).quoting(head, end.answer)
        let verdict: UploadVerdict = answer == .refused ? .failed(failure) : .goOn
        record(verdict, ended, end, context)
        guard stage == .moving else { return settleUpload(context) }
        switch answer {
        case .goOn: send(.makingDirectory(directories.url), context)
        case .done: converse(context)
        case .refused: leaveUpload(leaving(after: failure), context)
        }
    }

    private mutating func record(
        _ verdict: UploadVerdict, _ ended: ActiveExchange, _ end: SegmentEnd,
        _ context: FetchContext
    ) {
        frame.step.writes.append(
            .attempt(transfer, ended.outcome(end, verdict, at: context.now.wall)))
    }
}
