import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

/// A program that starts again finds its uploads, beside its downloads.
@Suite struct UploadTaskTests {
    @Test func tasksAreFoundByTheirKind() async throws {
        let home = try SessionHome()
        try home.scratch.write("hello", to: "files/source")
        let url = URL(string: "http://127.0.0.1:9/a")!
        let (upload, download) = try await home.withSession("one", .external) { session in
            let upload = try await session.upload(
                home.file("source"), with: TransferRequest(url: url))
            let download = try await session.download(
                TransferRequest(url: url), to: home.file("a"))
            return (upload.id, download.id)
        }
        try await home.withSession("one", .external) { session in
            #expect(try await session.tasks.map(\.id) == [download])
            #expect(try await session.uploadTasks.map(\.id) == [upload])
            #expect(try await session.task(upload) == nil)
            #expect(try await session.uploadTask(download) == nil)
            #expect(try await session.task(download)?.id == download)
            let found = try #require(try await session.uploadTask(upload))
            #expect(try await found.transfer.kind == .upload)
            try await found.cancel()
            // Ended, and not acknowledged.
            #expect(try await session.uploadTasks.map(\.id) == [upload])
            for try await event in session.events {
                try await session.acknowledge(event)
                break
            }
            #expect(try await session.uploadTasks.isEmpty)
            #expect(try await session.uploadTask(upload) != nil)
        }
        try await home.withSession("two", .external) { session in
            let own = try await session.uploadTasks
            #expect(own.isEmpty)
            let other = try await session.uploadTask(upload)
            #expect(other == nil)
        }
    }
}
