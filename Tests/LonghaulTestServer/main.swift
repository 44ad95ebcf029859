import Foundation
import LonghaulTestSupport

// The loopback server as a program of its own, for measurements and for trying things by hand.
// First line: `listening on PORT`; then one JSON object for every request that has ended.

@Sendable func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

let arguments = Array(CommandLine.arguments.dropFirst())
let port: Int?
switch arguments.count {
case 0: port = 0
case 2 where arguments[0] == "--port": port = Int(arguments[1])
case _: port = nil
}
guard let port else {
    FileHandle.standardError.write(Data("usage: LonghaulTestServer [--port PORT]\n".utf8))
    exit(64)
}

let server = try await LoopbackServer.start(port: port) { request in
    say(request.jsonLine)
}
say("listening on \(server.port)")
while true { try await Task.sleep(for: .seconds(3600)) }
