import LonghaulCore
import Testing

@Suite struct RequestFieldTests {
    private static let fields = RequestField.all.filter { !$0.key.isEmpty }

    /// A value of each field that is not its default.
    private static let samples: [String: FieldInput] = [
        "session": .text("s"), "meta": .text("[1]"), "earliestBegin": .text("+1h"),
        "deadline": .text("2h"), "window": .texts(["22:00-06:00", "Sat,Sun"]),
        "require": .texts(["power"]),
        "after": .texts(["7", "8"]), "afterAny": .flag(true),
        "spread": .text("1h"), "prefer": .texts(["none"]), "discretionary": .flag(true),
        "priority": .text("high"),
        "expectedBytes": .text("7"), "checksum": .text("md5:d41d8cd98f00b204e9800998ecf8427e"),
        "stallTimeout": .seconds(5), "headers": .headers([.init(name: "X-A", value: "1")]),
        "headersFrom": .text("h"), "userFrom": .text("u"), "cookies": .text("c"),
        "auth": .text("digest"), "retryStatus": .texts(["403", "404"]), "remoteTime": .flag(true),
        "notify": .flag(true),
        "errorPages": .flag(true),
        "user": .text("u:p"), "netrc": .flag(true), "proxy": .text("http://p"),
        "cacert": .text("ca"), "cert": .text("c"), "key": .text("k"), "insecure": .flag(true),
        "privateAddresses": .text("refuse"),
        "mirrors": .texts(["http://m/f"]), "ifExists": .text("rename"),
        "onDuplicate": .text("fail"), "reuse": .flag(true), "limitRate": .text("10K"),
        "minRate": .text("1K"), "continue": .flag(true),
        "yield": .flag(true), "connections": .text("3"), "maxSize": .text("9"),
        "retries": .text("2"), "remoteName": .flag(true), "waiveAfter": .text("1h"),
        "protocol": .text("tus"), "method": .text("post"), "form": .text("f"),
        "contentType": .text("a/b"), "partSize": .text("5M"), "repeatable": .flag(true),
        "inPlace": .flag(true), "createDirs": .flag(true), "ifChanged": .text("restart"),
        "snapshot": .flag(true), "settle": .text("20s"), "formFields": .texts(["a=b"]),
    ]

    private static let source = FieldSource(
        name: "it",
        InputContext(
            now: Timestamp(milliseconds: 0), secondsFromUTC: { _ in 0 }, directory: .success("/w")))

    /// A request that has this field, and the same with the sample.
    private func requests(_ field: RequestField) throws -> (TransferRequest, TransferRequest) {
        var plain = TransferRequest(url: "http://h/f", destination: .file("/f"))
        if field.rules.contains(.upload) { plain.options.upload = UploadOptions() }
        var changed = plain
        let sample = try #require(Self.samples[field.key], "\(field.key) has no sample")
        try field.read(sample, Self.source, &changed)
        return (plain, changed)
    }

    /// A property that is no field would be forgotten by JSON, by `set`, or by a repeated request.
    @Test func everyPropertyIsAField() {
        let apart: Set<String> = [
            // Where and whose it is: the command line and JSON read them by themselves.
            "url", "destination", "host",
            // They hold fields.
            "schedule", "sharedOptions", "upload",
            // Found by the program, and never said.
            "saysDiscretionary", "proxyVariables", "s3", "source", "snapshotPath",
            // Said over aria2's JSON-RPC alone.
            "gid",
        ]
        let values: [Any] = [
            TransferRequest.blank, TransferSchedule(), TransferOptions(), UploadOptions(),
        ]
        let properties = values.flatMap { Mirror(reflecting: $0).children.compactMap(\.label) }
        let paths = Set(
            RequestField.all.map {
                // A property with an observer has no name there.
                if $0.path == \TransferRequest.isDiscretionary { return "isDiscretionary" }
                return String("\($0.path)".split(separator: ".").last ?? "")
            })
        #expect(Set(properties).subtracting(apart) == paths)
        #expect(paths.count == RequestField.all.count)
    }

    @Test func namesAreNamesOfOneField() {
        let options = Self.fields.compactMap { $0.option?.name }
        #expect(Set(options).count == options.count)
        #expect(Set(Self.fields.map(\.key)).count == Self.fields.count)
        #expect(Set(Self.samples.keys) == Set(Self.fields.map(\.key)))
    }

    @Test(arguments: fields.map(\.key))
    func aValueIsReadCopiedAndShown(_ key: String) throws {
        let field = try #require(Self.fields.first { $0.key == key })
        let (plain, changed) = try requests(field)
        #expect(field.isDefault(in: plain) && !field.isDefault(in: changed))
        #expect(field.value(plain) != field.value(changed))
        #expect(field.defect?(changed) == nil)
        var copy = plain
        field.copy(changed, &copy)
        #expect(copy == changed)

        var partial = PartialRequest()
        try partial.read(field, try #require(Self.samples[key]), Self.source)
        copy = plain
        partial.apply(to: &copy)
        #expect(copy == changed)
    }

    @Test(arguments: fields.map(\.key))
    func theIdentityHasWhatTheRulesSay(_ key: String) throws {
        let field = try #require(Self.fields.first { $0.key == key })
        let (plain, changed) = try requests(field)
        let isOther = FetchIdentity(plain) != FetchIdentity(changed)
        #expect(isOther == field.rules.contains(.identity))
    }

    @Test(arguments: fields.map(\.key))
    func aRepeatedRequestRestatesWhatTheRulesSay(_ key: String) throws {
        let field = try #require(Self.fields.first { $0.key == key })
        let (plain, changed) = try requests(field)
        var restated = plain
        RequestField.restate(&restated, by: changed)
        #expect(restated == (field.rules.contains(.restated) ? changed : plain))
        restated = changed
        RequestField.restate(&restated, by: plain)
        #expect(restated == changed)
    }

    @Test func noneTakesAnOptionalValueAway() throws {
        for field in Self.fields {
            var (plain, changed) = try requests(field)
            guard field.value(plain) == .unknown, field.key != "prefer" else { continue }
            let none = field.shape == .list ? FieldInput.texts(["none"]) : .text("none")
            try field.read(none, Self.source, &changed)
            #expect(field.isDefault(in: changed), "\(field.key)")
        }
    }

    @Test func theFreestBoundIsThatOfAll() {
        func merged(_ edits: [(inout TransferRequest) -> Void]) -> TransferRequest {
            let requests = edits.map { edit in
                var request = TransferRequest(url: "http://h/f", destination: .file("/f"))
                edit(&request)
                return request
            }
            var merged = requests[0]
            for field in RequestField.merged { field.merge?(requests, &merged) }
            return merged
        }
        let bounded = merged([
            {
                $0.options.limitRate = 5; $0.options.retries = 1; $0.options.failOnFullDisk = true
            },
            {
                $0.options.limitRate = 9; $0.options.stallTimeout = 90
            },
        ])
        #expect(bounded.options.limitRate == 9 && bounded.options.retries == nil)
        #expect(bounded.options.stallTimeout == 90 && !bounded.options.failOnFullDisk)
        let kept = merged([{ $0.isDiscretionary = true }, { $0.options.keepsResponse = true }])
        #expect(!kept.isDiscretionary && kept.options.keepsResponse)
    }
}
