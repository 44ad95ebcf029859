import Foundation
import LonghaulTestSupport

// The loopback server as a program of its own, for measurements and for trying things by hand.
// First line: `listening on PORT`; then one JSON object for every request that has ended.

@Sendable func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

var arguments = CommandLine.arguments.dropFirst()
var address = "127.0.0.1"
var port: Int? = 0
while let option = arguments.popFirst() {
    switch (option, arguments.popFirst()) {
    case ("--port", let value?): port = Int(value)
    case ("--address", let value?): address = value
    case _: port = nil
    }
}
guard let port else {
    FileHandle.standardError.write(
        Data("usage: LonghaulTestServer [--address ADDRESS] [--port PORT]\n".utf8))
    exit(64)
}

let server = try await LoopbackServer.start(address: address, port: port) { request in
    say(request.jsonLine)
}
say("listening on \(server.port)")
while true { try await Task.sleep(for: .seconds(3600)) }
