/// Judges answers of S3.
extension UploadJudge {
    var parts: S3Parts { S3Parts(state, options, size: size) }

    mutating func judgeS3(_ head: ResponseHead) -> UploadVerdict {
        // An error may come with a 200, where the server began to answer before it was done.
        let code = S3Answer.code(in: end.answer)
        switch exchange.purpose {
        case .create:
            guard head.isSuccess, let id = MarkupText.element("UploadId", in: end.answer) else {
                return refused(head)
            }
            state.address = S3Key.escaped(id: id)
            state.appendLimit = S3Parts.size(options, of: size)
            state.begunAt = head.date("Date")
            return .goOn
        case .append:
            if head.status == 404 { return gone("the server does not know the upload any more") }
            guard head.isSuccess, let number = exchange.part,
                let tag = head.headers.single("ETag"), !tag.isEmpty
            else { return refused(head) }
            state.acknowledge(part: number, tag: tag)
            return .goOn
        case .list: return listed(head)
        case .complete: return completed(head, code)
        case .ask: return foundObject(head)
        case .abort: return .done
        case .discover, .whole: return refused(head)
        }
    }

    /// After a break the server's word counts for what it has.
    private mutating func listed(_ head: ResponseHead) -> UploadVerdict {
        if head.status == 404 { return forgotten() }
        if [400, 403, 405, 501].contains(head.status), !S3Answer.tellsOfOldKeys(end.answer),
            !S3Answer.isPassing(end.answer)
        {
            // Some keys may send parts and not list them, some servers have no lists.
            (state.mustAsk, state.listedThrough) = (false, nil)
            return .goOn
        }
        guard head.isSuccess else { return .failed(failure(of: head)) }
        guard let list = S3Answer.parts(in: end.answer), list.next ?? .max > listedThrough else {
            return .failed(
                Failure(
                    .transient,
                    LonghaulError(.serverError, "the server's list of parts cannot be read")))
        }
        state.compare(with: list, parts)
        return .goOn
    }

    private var listedThrough: Int { state.listedThrough ?? 0 }

    private mutating func completed(_ head: ResponseHead, _ code: String?) -> UploadVerdict {
        if head.isSuccess, code == nil { return .done }
        if head.status == 404 { return forgotten() }
        if head.status == 400, code == "InvalidPart" || code == "InvalidPartOrder" {
            state.mustAsk = true
            return .conflict(UploadFailure.otherParts(head))
        }
        // The server may have gone on after such an answer.
        if head.isSuccess || head.status >= 500 { state.mayHaveArrived = true }
        guard head.isSuccess else { return .failed(failure(of: head)) }
        let error = LonghaulError(.serverError, "the server could not join the parts")
        return .failed(Failure(.transient, error))
    }

    /// S3 forgets an upload when its object is made, too.
    private mutating func forgotten() -> UploadVerdict {
        guard state.mayHaveArrived else {
            return gone("the server does not know the upload any more")
        }
        state.isForgotten = true
        return .goOn
    }

    private mutating func foundObject(_ head: ResponseHead) -> UploadVerdict {
        if S3Answer.isObject(head, size: size, parts: parts.count, since: state.begunAt) {
            return .done
        }
        let failure = failure(of: head)
        // An answer to HEAD has no body, and does not say which 400 it is.
        if head.status == 400 { return .failed(UploadFailure.passing(head)) }
        if !head.isSuccess, failure.kind == .transient { return .failed(failure) }
        return gone("the server does not know the upload any more")
    }
}
