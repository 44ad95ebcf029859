import LonghaulCore
import Testing

@testable import LonghaulStore

/// Each value of a record stands in the column of its name: rows are written by the names of the
/// schema with a different value in each column, and read as records, and the other way round.
@Suite struct ColumnTests {
    private let scratch: ScratchStore

    init() throws {
        scratch = try ScratchStore()
    }

    private func access<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try scratch.store.access(body)
    }

    // MARK: - Read and written

    @Test(arguments: [true, false]) func aFetch(isPrefetched: Bool) throws {
        let validator = Validator(etag: "e8")
        let response = TransferResponse(url: "r20")
        var upload = UploadState()
        upload.mayHaveArrived = true
        let row: Literals = [
            "generation": "2", "partPath": "'p3'", "partDevice": "4", "partInode": "5",
            "partBirth": "6", "partMount": "'m7'", "durable": "'\(ByteRanges(1..<9))'",
            "validator": quoted(validator), "bytesTotal": "9", "bytesFetched": "10",
            "attempts": "11", "restarts": "12", "fruitlessAttempts": "13", "emptyAnswers": "14",
            "source": "15", "effectiveURL": "'u16'", "proposedName": "'n17'",
            "contentCoding": "'c18'", "askedURL": "'a19'", "response": quoted(response),
            "publication": "'f21'", "prefetched": isPrefetched ? "1" : "0",
            "digestRefuted": isPrefetched ? "0" : "1", "upload": quoted(upload),
        ]
        try scratch.insert("fetch", row)
        try access { try $0.run("UPDATE fetch SET leader = 22") }
        var state = try #require(try access { try FetchRecord.find(FetchID(rawValue: 1), $0) })
        #expect(state.generation == 2 && state.partPath == "p3" && state.partMount == "m7")
        let identity = try #require(state.partIdentity)
        #expect(identity.device == 4 && identity.inode == 5 && identity.birth == 6)
        #expect(state.durable == ByteRanges(1..<9) && state.validator == validator)
        #expect(state.bytesTotal == 9 && state.bytesFetched == 10)
        #expect(state.attempts == 11 && state.restarts == 12 && state.fruitlessAttempts == 13)
        #expect(state.emptyAnswers == 14 && state.source == 15)
        #expect(state.effectiveURL == "u16" && state.proposedName == "n17")
        #expect(state.contentCoding == "c18" && state.askedURL == "a19")
        #expect(state.response == response && state.publication == "f21")
        #expect(state.isPrefetched == isPrefetched && state.isDigestRefuted != isPrefetched)
        #expect(state.upload == upload && state.leader?.rawValue == 22)

        state.id = try access { try FetchRecord.insert(state, $0) }
        #expect(state.id.rawValue == 2)
        #expect(try scratch.stored("fetch", row) == row.map(\.value))
        try access { try FetchRecord.save(FetchState(id: state.id), $0) }
        #expect(try scratch.stored("fetch", ["bytesFetched": "", "upload": ""]) == ["0", "NULL"])
        try access { try FetchRecord.save(state, $0) }
        #expect(try scratch.stored("fetch", row) == row.map(\.value))
        #expect(try scratch.stored("fetch", ["leader": ""]) == ["NULL"])
    }

    @Test(arguments: 0..<3) func anOrigin(isTrue: Int) throws {
        let row: Literals = [
            "name": "'n1'", "ignoresRanges": isTrue == 0 ? "1" : "0",
            "mishandlesIfRange": isTrue == 1 ? "1" : "0",
            "speaksHTTP2": isTrue == 2 ? "1" : "0", "coolDownUntil": "5", "coolDownSince": "6",
            "pauseUntil": "7", "failures": "8", "lastFailure": "'l9'", "bytesPerSecond": "10.5",
            "uploads": "'ietf8'",
        ]
        try scratch.insert("origin", row)
        var memory = try access { try OriginRecord.find("n1", $0) }
        #expect(memory.origin == "n1")
        #expect(try access { try OriginRecord.find(Int64(1), $0) } == memory)
        #expect(memory.ignoresRanges == (isTrue == 0) && memory.mishandlesIfRange == (isTrue == 1))
        #expect(memory.speaksHTTP2 == (isTrue == 2) && memory.failures == 8)
        let moments = milliseconds(memory.coolDownUntil, memory.coolDownSince, memory.pauseUntil)
        #expect(moments == [5, 6, 7])
        #expect(memory.lastFailure == "l9" && memory.bytesPerSecond == 10.5)
        #expect(memory.uploads == .ietf8)

        // Once as a new row, and once over a row that is there.
        for name in ["new", "known"] {
            memory.origin = name
            if name == "known" { try scratch.insert("origin", ["name": "'known'"]) }
            try access { try OriginRecord.save(memory, $0) }
            #expect(
                try scratch.stored("origin", row) == ["'\(name)'"] + row.map(\.value).dropFirst())
        }
    }

    @Test func anAttempt() throws {
        let row: Literals = [
            "transferID": "1", "serial": "2", "startedAt": "3", "endedAt": "4", "url": "'u5'",
            "bytes": "6", "httpStatus": "7", "httpVersion": "8", "outcome": "'o9'",
            "message": "'m10'", "peer": "'p11'", "nameLookup": "12", "connect": "13",
            "tlsHandshake": "14", "firstByte": "15",
        ]
        try scratch.insert("attempt", row)
        let transfer = TransferID(rawValue: 1)
        let found = try #require(try scratch.store.transfers.attempts(of: transfer).first)
        #expect(found.number == 2 && milliseconds(found.startedAt, found.endedAt) == [3, 4])
        #expect(found.url == "u5" && found.bytes == 6 && found.httpStatus == 7)
        #expect(found.httpVersion == 8 && found.outcome == "o9" && found.message == "m10")
        let phases = found.phases
        #expect(phases.peer == "p11" && phases.nameLookup == 12e-6 && phases.connect == 13e-6)
        #expect(phases.tlsHandshake == 14e-6 && phases.firstByte == 15e-6)

        // Once as a new row, and once over a row that is there.
        for kept in ["DELETE FROM attempt", "UPDATE attempt SET startedAt = 0, firstByte = NULL"] {
            try access { connection in
                try connection.run(kept)
                var batch = RowBatch<AttemptRow>()
                batch.append(AttemptRow(transfer: transfer, outcome: found))
                try batch.flush(connection)
            }
            #expect(try scratch.stored("attempt", row) == row.map(\.value))
        }
    }

    @Test(arguments: [false, true]) func aNewTransfer(isUpload: Bool) throws {
        var request = TransferRequest(url: "u14", destination: .file("/d15"))
        request.priority = .high
        request.deadline = isUpload ? .after(seconds: 10.5) : .at(Timestamp(milliseconds: 10))
        request.earliestBegin = Timestamp(milliseconds: 12)
        request.expectedBytes = 13
        var schedule = StoredSchedule(
            request, usesNetwork: false, begin: .start, deadline: .start, waitsForTransfers: false)
        schedule.requested = EligibilityKey(stored: 2, terms: nil)
        schedule.eligibility = EligibilityKey(stored: 4, terms: nil)
        schedule.waiver = PreferenceExpiry(
            checkAt: Timestamp(milliseconds: 18), by: Timestamp(milliseconds: 19))
        let new =
            isUpload
            ? NewTransfer(
                request: request, origin: "o", source: "/s22",
                reservation: Reservation("i23", version: "v24"))
            : NewTransfer(request: request, origin: "o", destination: "/d15", realPath: "/r21")
        let row: Literals = [
            "id": "1", "readyAt": "25", "schedule": "2", "priority": "\(Priority.high.rawValue)",
            "sessionID": "5", "originID": "6", "reservationKey": "\(new.reservation.key)",
            "created": "8", "deadline": "9", "deadlineAt": isUpload ? "NULL" : "10",
            "deadlineAfter": isUpload ? "10.5" : "NULL", "earliest": "12", "expectedBytes": "13",
            "url": "'u14'", "destination": isUpload ? "NULL" : "'/d15'", "options": "'o16'",
            "eligibility": "4", "waiveAt": "18", "waiveBy": "19", "identityKey": "20",
            "realPath": isUpload ? "NULL" : "'/r21'", "source": isUpload ? "'/s22'" : "NULL",
            "uploadIdentity": isUpload ? "'i23'" : "NULL",
            "uploadVersion": isUpload ? "'v24'" : "NULL",
        ]
        var buffer = InsertBuffer()
        _ = buffer.append(
            InsertBuffer.Row(
                id: 1, new: new, schedule: schedule, calendar: 0, session: 5, origin: 6,
                identityKey: 20, created: Timestamp(milliseconds: 8),
                begin: Timestamp(milliseconds: 25), deadline: Timestamp(milliseconds: 9),
                options: "o16"))
        try access { try buffer.flush($0) }
        #expect(try scratch.stored("transfer", row) == row.map(\.value))
    }

    @Test func anEvent() throws {
        let row: Literals = [
            "seq": "1", "at": "2", "sessionID": "3", "transferID": "4", "type": "'t5'",
            "detail": "'d6'", "acknowledgedAt": "7", "path": "'p8'",
        ]
        try scratch.insert("session", ["id": "3", "name": "'s3'", "created": "1"])
        try scratch.insert("event", row)
        let event = try #require(
            try scratch.store.events.list(of: TransferID(rawValue: 4)).first)
        #expect(event.seq == 1 && event.session == "s3" && event.transfer?.rawValue == 4)
        #expect(milliseconds(event.at, event.acknowledgedAt) == [2, 7])
        #expect(event.type.rawValue == "t5" && event.detail == "d6" && event.path == "p8")

        try access { connection in
            try connection.run("DELETE FROM event")
            var batch = RowBatch<EventRow>()
            batch.append(
                EventRow(
                    at: event.at, session: 3, transfer: TransferID(rawValue: 4),
                    type: event.type, detail: event.detail))
            try batch.flush(connection)
        }
        let written: Literals = [
            "at": "2", "sessionID": "3", "transferID": "4", "type": "'t5'", "detail": "'d6'",
        ]
        #expect(try scratch.stored("event", written) == written.map(\.value))
    }

    // MARK: - Transfers

    /// A transfer that has failed, with its session, its origin, its fetch and a reader.
    private func insertTransfer() throws {
        try scratch.insert("session", ["id": "6", "name": "'s6'", "host": "'h6'", "created": "1"])
        try scratch.insert("origin", ["id": "7", "name": "'o7'"])
        try scratch.insert(
            "fetch",
            [
                "id": "31", "generation": "50", "partPath": "'p51'",
                "durable": "'\(ByteRanges(0..<52))'", "bytesTotal": "53", "bytesFetched": "540",
                "attempts": "550", "restarts": "560", "digestRefuted": "0",
                "fruitlessAttempts": "57", "emptyAnswers": "58", "source": "59",
                "validator": "'v60'", "prefetched": "1",
            ])
        try scratch.insert(
            "reader",
            [
                "id": "61", "transfer": "1", "start": "62", "pid": "63", "pidStart": "64",
                "bootID": "'b65'",
            ])
        try scratch.insert(
            "transfer",
            [
                "id": "1", "phase": "4", "ended": "1", "want": "1", "readyAt": "3",
                "schedule": "2", "eligibility": "0", "priority": "0", "sessionID": "6",
                "originID": "7", "reservationKey": "8", "identityKey": "9", "created": "10",
                "deadline": "11", "deadlineAt": "12", "earliest": "13", "expectedBytes": "14",
                "url": "'u15'", "destination": "'/d16'", "realPath": "'/r17'",
                "waiveAt": "18", "waiveBy": "19", "readySince": "20",
                "waitReason": quoted([WaitReason(.backoff, required: "w21")]),
                "fetchID": "31", "sharedFetch": "32", "partSuffix": "33", "startedAt": "34",
                "finishedAt": "35", "bytesTotal": "36", "bytesDone": "37", "bytesFetched": "38",
                "attempts": "39", "restarts": "40",
                "error": quoted(LonghaulError(.internal, "e41")), "contentCoding": "'c42'",
                "response": quoted(TransferResponse(url: "r43")),
            ])
    }

    @Test func aTransferAtWork() throws {
        try insertTransfer()
        let id = TransferID(rawValue: 1)
        let work = try #require(try access { try WorkRecord.find(id, $0) })
        let request = work.request
        #expect(work.id == id && work.phase == .failed && work.want == .pause)
        #expect(!work.isRearmPending && !work.isUnreadable && work.origin == "o7")
        #expect(request.url == "u15" && work.path == "/d16" && request.session == "s6")
        #expect(request.priority == .high && request.isDiscretionary)
        #expect(work.eligibility == EligibilityKey(stored: 0, terms: nil))
        #expect(request.deadline == .at(Timestamp(milliseconds: 12)))
        #expect(request.expectedBytes == 14 && work.identityKey == 9 && work.partSuffix == 33)
        #expect(work.fetchID?.rawValue == 31 && work.sharedFetch?.rawValue == 32)
        #expect(
            milliseconds(
                work.readyAt, work.createdAt, work.deadline, request.earliestBegin,
                work.waiver?.checkAt, work.waiver?.by, work.waitingSince, work.startedAt,
                work.finishedAt) == [3, 10, 11, 13, 18, 19, 20, 34, 35])
        #expect(work.waitingFor.map(\.required) == ["w21"])
        let numbers = work.numbers
        #expect(numbers.bytesTotal == 36 && numbers.bytesDone == 37 && numbers.bytesFetched == 38)
        #expect(numbers.attempts == 39 && numbers.restarts == 40)
        #expect(work.error?.message == "e41" && work.readFrom == 62)
        try access {
            try $0.run(
                "UPDATE transfer SET rearm = 1, deadlineAt = NULL, deadlineAfter = 12.5")
        }
        let again = try #require(try access { try WorkRecord.find(id, $0) })
        #expect(again.isRearmPending && again.request.deadline == .after(seconds: 12.5))
    }

    @Test func aTransferThatIsShown() throws {
        try insertTransfer()
        func shown() throws -> Transfer {
            try #require(
                try scratch.store.transfers.find(TransferID(rawValue: 1), now: .start))
        }
        var transfer = try shown()
        #expect(transfer.id.rawValue == 1 && transfer.state == .failed && transfer.url == "u15")
        #expect(transfer.session == "s6" && transfer.host == "h6" && transfer.priority == .high)
        #expect(transfer.isDiscretionary && transfer.arePreferencesWaived)
        #expect(transfer.file == .destination("/d16") && transfer.expectedBytes == 14)
        #expect(
            milliseconds(
                transfer.createdAt, transfer.deadline, transfer.earliestBegin,
                transfer.readySince, transfer.startedAt, transfer.finishedAt)
                == [10, 11, 13, 20, 34, 35])
        #expect(transfer.error?.message == "e41" && transfer.response?.url == "r43")
        #expect(transfer.contentCoding == "c42" && transfer.sharedFetch?.rawValue == 32)
        let held = try #require(transfer.held)
        #expect(held.fetch.rawValue == 31 && held.generation == 50 && held.partPath == "p51")
        #expect(held.durable == ByteRanges(0..<52) && held.isPrefetched && held.hasVersion)
        #expect(!held.isAnothers && transfer.bytesTotal == 53 && transfer.bytesDone == 52)
        #expect(transfer.bytesFetched == 540)
        #expect(transfer.attempts == 550 && transfer.restarts == 560)

        // Another transfer leads the fetch, and a retry is pending.
        try access {
            try $0.run("UPDATE fetch SET leader = 2")
            try $0.run("UPDATE transfer SET rearm = 1, want = 0, waitReason = NULL")
        }
        transfer = try shown()
        #expect(transfer.state == .waiting && transfer.held?.isAnothers == true)
        #expect(transfer.bytesFetched == 38 && transfer.error == nil)
        #expect(milliseconds(transfer.waiverCheck, transfer.waivesBy) == [18, 19])

        try access { try $0.run("UPDATE transfer SET fetchID = NULL, finalPath = '/f44'") }
        transfer = try shown()
        #expect(transfer.held == nil && transfer.file == .destination("/f44"))
        #expect(transfer.bytesTotal == 36 && transfer.bytesDone == 37)
        #expect(transfer.attempts == 39 && transfer.restarts == 40)
    }

    @Test func aTransferThatIsReady() throws {
        try insertTransfer()
        try access {
            try $0.run(
                """
                UPDATE transfer SET phase = 0, ended = 0, want = 0, finishedAt = NULL, \
                readyAt = 0, eligibility = 2
                """)
        }
        let epoch = try scratch.lead()
        let head = try scratch.turn(epoch) { try $0.ready.readyHead(now: .start) }
        // Of a group, and by its deadline, which is near.
        #expect(head.rows.count == 1)
        let row = try #require(head.rows.first)
        #expect(row.id.rawValue == 1 && row.originID == 7 && row.sessionID == 6 && row.place == 1)
        #expect(row.origin == "o7" && row.priority == .high && row.bytesLeft == 1)
        #expect(row.eligibility == EligibilityKey(stored: 2, terms: nil))
        #expect(milliseconds(row.waitingSince, row.deadline) == [20, 11] && !row.isUnresumable)
        try access { try $0.run("UPDATE transfer SET deadline = \(Int64.max / 4), fetchID = NULL") }
        let later = try scratch.turn(epoch) { try $0.ready.readyHead(now: .start) }
        #expect(later.rows.map(\.bytesLeft) == [14] && later.rows.first?.priority == .high)
    }

    @Test func aFileThatIsKept() throws {
        try insertTransfer()
        try access {
            try $0.run(
                """
                UPDATE transfer SET phase = 3, finalPath = '/f44', fileValidator = ?1, \
                fileDevice = 45, fileInode = 46, fileBirth = 47, url = 'https://a.example/f'
                """, StoredJSON.encode(Validator(etag: "e48")))
        }
        let epoch = try scratch.lead()
        let file = try scratch.turn(epoch) { tx -> KeptFile? in
            let work = try #require(try tx.transfers.work(TransferID(rawValue: 1)))
            return try SharedFetches(connection: tx.connection).finished(like: work, now: .start)
        }
        let kept = try #require(file)
        #expect(kept.path == "/f44" && kept.length == 36 && kept.finishedAt.milliseconds == 35)
        #expect(kept.identity.device == 45 && kept.identity.inode == 46)
        #expect(kept.identity.birth == 47 && kept.validator.etag == "e48")
    }

    @Test func anAbandonedUpload() throws {
        var options = TransferOptions()
        options.metadata = "m5"
        try scratch.insert(
            "abandonedUpload",
            [
                "id": "1", "fetchID": "2", "transferID": "3", "url": "'u4'", "source": "'/s5'",
                "options": quoted(options), "upload": quoted(UploadState()), "attempts": "6",
                "dueAt": "7",
            ])
        let epoch = try scratch.lead()
        let found = try #require(
            try scratch.turn(epoch) { try $0.abandonedUploads.begin(limit: 1, now: .start) }.first)
        #expect(found.id == 1 && found.fetch.rawValue == 2 && found.transfer.rawValue == 3)
        #expect(found.request.url == "u4" && found.request.destination == .file("/s5"))
        #expect(found.request.options.metadata == "m5" && found.attempts == 7)
    }
}
