import Foundation
import Longhaul

@main struct Keep {
    static func main() async throws {
        let session = try await BackgroundSession(identifier: "com.example.keep")
        try await session.invalidate()
    }
}
