/// The source of an upload: whether it is still the file that was handed over, and the one that is
/// expected.
extension UploadMachine {
    mutating func opened(_ version: SourceVersion, _ context: FetchContext) {
        guard stage == .preparing, let options = request.options.upload else { return }
        frame.bytes.checkpoints.start(at: context.now.monotonic)
        frame.run.start(frame.bytes, at: context.now.monotonic)
        var upload = state.upload ?? UploadState()
        if let asked = state.askedURL, !CanonicalURL.areSame(asked, request.url) {
            abandon("its URL was changed")
            let source = upload.source
            upload = UploadState()
            upload.source = source
        }
        frame.bytes.state.askedURL = request.url
        let pinned = upload.source ?? options.source
        if let pinned, !pinned.isSame(as: version) {
            guard options.ifChanged == .restart else {
                leaving = leaving ?? .fail(.sourceChanged)
                stage = .settling
                return settleUpload(context)
            }
            abandon("the file was changed")
            // A POST of the file as it was must not be repeated with what it is now.
            let mayHaveArrived = upload.mayHaveArrived && upload.address == nil
            upload = UploadState()
            upload.mayHaveArrived = mayHaveArrived
        }
        // Names at the server are made of the pinned one, whose numbers may be others by now.
        upload.source = pinned.flatMap { $0.isSame(as: version) ? $0 : nil } ?? version
        course.start(held: have.count, floor: upload.progress.kept.sentBound)
        frame.bytes.state.upload = upload
        var conversation = conversation
        conversation.reopens()
        frame.bytes.state.upload?.adopt(conversation)
        frame.bytes.state.bytesTotal = version.size
        // The state is saved together with the loss of the bytes before.
        if !frame.step.writes.isEmpty { frame.save() }
        if leaving != nil {
            stage = .settling
            settleUpload(context)
        } else if let expected = request.options.checksum, expected != upload.checked {
            stage = .checking
            frame.save()
            frame.step.effects.append(.verify([expected], length: version.size))
        } else {
            stage = .moving
            converse(context)
        }
    }

    /// The source has the digest that the request names. Before that nothing is sent.
    mutating func verified(_ context: FetchContext) {
        guard stage == .checking else { return }
        let checked = request.options.checksum
        frame.bytes.state.upload?.checked = checked
        frame.save()
        stage = .moving
        converse(context)
    }

    mutating func notChecked(_ leaving: FetchLeaving, _ context: FetchContext) {
        if stage == .checking { leaveUpload(leaving, context) }
    }

    /// The upload begins anew; what the server has of it is taken away there.
    private mutating func abandon(_ reason: String) {
        if state.upload?.address != nil {
            frame.step.writes.append(.abandonUpload(frame.target.transfer, state))
        }
        lose(reason)
        frame.bytes.state.upload = nil
        frame.bytes.state.askedURL = request.url
        // Before another resource is made: after a crash this one would be abandoned twice.
        frame.save()
    }
}
