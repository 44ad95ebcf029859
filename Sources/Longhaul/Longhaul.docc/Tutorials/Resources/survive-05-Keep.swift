import Foundation
import Longhaul

@main struct Keep {
    static func main() async throws {
        let session = try await BackgroundSession(identifier: "com.example.keep")
        let words = CommandLine.arguments
        if words.count == 3, let url = URL(string: words[1]) {
            let file = URL(fileURLWithPath: words[2])
            _ = try await session.download(TransferRequest(url: url), to: file)
        }
        for task in try await session.tasks {
            do {
                for try await progress in task.progress {
                    print("\(progress.bytesDone) of \(progress.bytesTotal ?? 0) bytes")
                }
                print(try await task.value.url.path)
            } catch {
                print(error.localizedDescription)
            }
        }
        try await session.acknowledge(through: .max)
        try await session.invalidate()
    }
}
