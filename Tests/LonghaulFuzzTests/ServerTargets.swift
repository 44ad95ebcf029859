import CLonghaul
import Glibc
import NIOCore
import NIOHTTP1

@testable import Longhaul
@testable import LonghaulCore
@testable import LonghaulModel
@testable import LonghaulServe
@testable import LonghaulTransport

let serverTargets: [FuzzTarget] = [
    FuzzTarget("rpc", rpc),
    FuzzTarget("http-head", httpHead),
    FuzzTarget("wire-head", wireHead),
    FuzzTarget("wire-body", wireBody),
]

// MARK: - serve

/// A message of JSON-RPC: as many answers as calls, and a bounded number of them.
private func rpc(_ bytes: [UInt8]) throws {
    guard let message = try? RPCMessage(bytes) else { return }
    let calls: [RPCCall?] =
        switch message {
        case .call(let call): [call]
        case .batch(let calls): calls
        case .odd: []
        }
    try check(calls.count <= 1000, "\(calls.count) calls")
    for case let call? in calls {
        // It is JSON, but a number may be too large.
        let parameters = RPCParameters((try? call.values()) ?? [])
        for place in 0..<3 {
            _ = try? parameters.string(place)
            _ = try? parameters.integer(place)
            _ = try? parameters.strings(place)
            _ = parameters.options(place)
            if let text = parameters.optionalString(place), let gid = try? GID(text) {
                try check(gid.id == nil || gid.chosen == nil, "two transfers have \(text)")
            }
        }
        let inner = (try? call.calls())??.count ?? 0
        try check(inner <= 1000, "\(inner) calls")
    }
}

/// A request line and header fields: only this address, this origin and the secret are admitted.
private func httpHead(_ bytes: [UInt8]) throws {
    let line = String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
    let words = line.split(separator: " ")
    guard words.count > 1 else { return }
    var headers = HTTPHeaders()
    // NIO refuses other names.
    for field in bytes.withUnsafeBytes({ HeadBlock.fields(of: $0) }).fields
    where field.name.utf8.allSatisfy(\.isTokenCharacter) {
        headers.add(name: field.name, value: field.value)
    }
    let request = ServedRequest(
        HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: String(words[0])),
            uri: String(words[1]), headers: headers))
    try check(!request.path.contains(""), "an empty part of a path")
    let gatekeeper = Gatekeeper(secret: try Secret("s3cret"), allowedOrigins: ["https://a.example"])
    let verdict = gatekeeper.verdict(headers, proven: false)
    if verdict == .admitted {
        try check(headers["host"].count == 1, "a request for no one host")
        try check(headers["authorization"].first?.contains("s3cret") == true, "no secret")
        if let origin = headers["origin"].first, gatekeeper.sharedOrigin(headers) == nil {
            let own = WebOrigin.host(of: origin)
            try check(own != nil, "admitted to \(origin)")
        }
    }
    if let origin = headers["origin"].first, let normal = WebOrigin.normal(origin) {
        try checkRoundTrip(normal, WebOrigin.normal(normal))
    }
    for size in [0, 1, 1000, Int64.max] {
        if case .part(let range) = ByteRange(headers["range"], size: size) {
            try check(
                range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty,
                "\(range) of \(size)")
        }
    }
}

// MARK: - The callbacks of libcurl, in C

/// One request's state in C, as libcurl's callbacks see it.
private func withFlow(_ body: (UnsafeMutablePointer<lh_flow>) throws -> Void) rethrows {
    var turn = lh_turn()
    var flow = lh_flow()
    try withUnsafeMutablePointer(to: &turn) { turn in
        try withUnsafeMutablePointer(to: &flow) { flow in
            lh_flow_reset(flow)
            flow.pointee.turn = turn
            flow.pointee.head_limit = 4_096
            defer { lh_flow_free_head(flow) }
            try body(flow)
        }
    }
}

/// Each line is handed over as libcurl does it.
private func wireHead(_ bytes: [UInt8]) throws {
    try withFlow { flow in
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            // Of the exact size, so that the sanitizer sees a byte read beyond it.
            var line = Array(rest[..<end]).map { CChar(bitPattern: $0) }
            rest = rest[end...]
            let taken = lh_flow_header(&line, 1, line.count, flow)
            let now = flow.pointee
            try check(now.head_length <= now.head_limit, "a head of \(now.head_length) bytes")
            try check(now.reply_length <= 192, "a reply of \(now.reply_length) bytes")
            try check((0...999).contains(now.head_status), "the status \(now.head_status)")
            if taken != line.count { break }
        }
        let block = UnsafeRawBufferPointer(
            start: flow.pointee.head, count: flow.pointee.head_length)
        _ = HeadBlock.fields(of: block)
    }
}

/// `STATE SKIP COMPARE POSITION END STOP`, a line break, and the body in pieces of the length that
/// the byte before each says: no byte is written outside of the plan.
private func wireBody(_ bytes: [UInt8]) throws {
    let setup = String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self).split(separator: " ")
    guard setup.count > 5 else { return }
    let numbers = setup.map { min($0.decimalValue ?? -1, 4_096) }
    guard let stream = tmpfile() else { throw Broken(description: "no file") }
    let file = fileno(stream)
    let budget = lh_budget_new()
    defer {
        fclose(stream)
        lh_budget_free(budget)
    }
    let held = [UInt8]("abcdefghijklmnopqrstuvwxyz".utf8)
    _ = held.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    try withFlow { flow in
        flow.pointee.turn.pointee.budget = budget
        defer { free(flow.pointee.turn.pointee.gathered) }
        flow.pointee.fd = file
        flow.pointee.state = Int32(min(max(numbers[0], 1), 4))
        flow.pointee.upload.answer_limit = 100
        (flow.pointee.skip, flow.pointee.compare) = (max(numbers[1], 0), max(numbers[2], 0))
        flow.pointee.position = max(numbers[3], 0)
        (flow.pointee.end, flow.pointee.stop_at) = (numbers[4], numbers[5])
        let first: Int64 = flow.pointee.position + flow.pointee.compare
        var rest = bytes.drop { $0 != 0x0A }.dropFirst()
        while let length = rest.popFirst() {
            var piece = rest.prefix(Int(length)).map { CChar(bitPattern: $0) }
            rest = rest.dropFirst(piece.count)
            if lh_flow_body(&piece, 1, piece.count, flow) != piece.count { break }
        }
        lh_turn_write(flow.pointee.turn)
        let now = flow.pointee
        try check(now.upload.answer_length <= 100, "an answer of \(now.upload.answer_length) bytes")
        try check(now.skip >= 0 && now.compare >= 0, "bytes are counted backwards")
        if now.written > 0 {
            let bound = [now.end, now.stop_at].filter { $0 >= 0 }.min() ?? Int64.max
            try check(first + now.written <= bound, "\(now.written) bytes from \(first) on")
        }
        var kept = [UInt8](repeating: 0, count: held.count)
        _ = kept.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        let safe = min(Int(first), held.count)
        try check(kept[..<safe] == held[..<safe], "bytes before the place were changed")
    }
}
