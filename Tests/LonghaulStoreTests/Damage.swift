import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

/// Stores with something in them, and what is done to them.
enum Damage {
    /// What the doctor finds wrong.
    static func failing(_ directory: String) -> [String] {
        StoreDoctor.check(directory: directory).filter { !$0.ok }.map(\.check)
    }

    @discardableResult
    static func repair(_ directory: String) throws -> RepairReport? {
        try StoreDoctor.repair(directory: directory)
    }

    /// Makes a daily copy.
    static func copy(_ directory: String, at now: Timestamp = .start) throws {
        try StoreCopy.make(directory: directory, now: now) { true }
    }

    /// A closed store with `count` waiting transfers, one of them begun, and an ended one.
    static func filled(_ count: Int) throws -> String {
        let directory = try Scratch.directory()
        let store = try Store.open(directory: directory)
        _ = try store.wants.enqueue(
            (1...count).map { number in
                .sample("/d/\(number)", session: "s\(number % 3)") {
                    $0.options.metadata = String(repeating: "m", count: 300)
                }
            }, now: .start)
        let epoch = try store.lease.raiseEpoch(
            EngineHolder(pid: 1, pidStart: 1, bootID: "b", mode: "run"), now: .start)
        try store.withEngineTransaction(epoch, .durable) { tx in
            var (_, fetch) = try #require(
                try tx.transfers.claim(TransferID(rawValue: 1), now: .start))
            fetch.durable.insert(0..<99)
            try tx.fetches.save(fetch)
            try tx.transfers.cancel(
                TransferID(rawValue: 2), numbers: TransferTotals(), now: .start)
        }
        try store.close()
        return directory
    }

    /// Overwrites whole pages, counted from 1.
    static func destroy(_ path: String, pages: [Int], bytes: Int = 4096) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        for page in pages {
            try file.seek(toOffset: UInt64(page - 1) * 4096)
            try file.write(contentsOf: Data(repeating: 0xA5, count: bytes))
        }
        try file.close()
    }

    /// Overwrites some bytes.
    static func patch(_ path: String, at offset: Int, _ bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    /// A store of `count` transfers, all of them in the log, as of a process that was killed.
    static func logged(_ count: Int) throws -> String {
        let directory = try Scratch.directory()
        let store = try ScratchStore()
        for number in 1...count { try store.add("/d/\(number)") }
        for name in ["queue.sqlite", "queue.sqlite-wal", "queue.sqlite-shm"] {
            try FileManager.default.copyItem(
                atPath: "\(store.directory)/\(name)", toPath: "\(directory)/\(name)")
        }
        return directory
    }
}
