import Foundation
import Glibc

/// A file system with other rules for names, mounted for one test. Needs root and FUSE.
package final class OtherNamesDisk {
    package enum Kind: CaseIterable, Sendable {
        /// NTFS as Windows has it: no `:`, no blank at the end, no `CON`.
        case ntfs
        /// EncFS: at most 175 bytes, whatever it says of itself (189).
        case encfs

        package var isPossible: Bool {
            switch self {
            case .ntfs: Kind.hasNTFS
            case .encfs: Kind.hasEncFS
            }
        }

        private static let hasNTFS = Kind.canMount(.ntfs, "ntfs-3g")
        private static let hasEncFS = Kind.canMount(.encfs, "encfs")

        private static func canMount(_ kind: Kind, _ program: String) -> Bool {
            guard InstalledProgram.find(program) != nil, geteuid() == 0,
                access("/dev/fuse", R_OK | W_OK) == 0, let scratch = try? Scratch("disk")
            else { return false }
            return (try? OtherNamesDisk(kind, at: scratch("place"))) != nil
        }
    }

    package let path: String
    private let scratch: Scratch
    /// Its directory cannot be removed before the file system is unmounted.
    private let place: Scratch?

    /// - Parameter place: the scratch directory of `path`, which must outlive the mount.
    package init(_ kind: Kind, at path: String, in place: Scratch? = nil) throws {
        self.path = path
        self.place = place
        scratch = try Scratch("disk")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        switch kind {
        case .ntfs:
            let image = scratch("image")
            try Data().write(to: URL(fileURLWithPath: image))
            guard truncate(image, 16 << 20) == 0 else { throw SystemFailure("create \(image)") }
            try run("mkfs.ntfs", "-q", "-F", "-Q", image)
            try run("ntfs-3g", "-o", "windows_names", image, path)
        case .encfs:
            let under = try scratch.directory("under")
            try run("encfs", "--standard", "--extpass=echo secret", under, path)
        }
    }

    /// The names in its top directory, sorted. Not the names that FUSE gives to files which are
    /// open when they are removed: they go some time after the last descriptor is closed.
    package var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: path)
                .filter { !$0.hasPrefix(".fuse_hidden") }.sorted()
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    private func run(_ words: String...) throws {
        let process = try CLIProcess("/usr/bin/env", words)
        guard try process.reap() == .exited(0) else {
            throw FixtureFailed(description: process.errors)
        }
    }
}
