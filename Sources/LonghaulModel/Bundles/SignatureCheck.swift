/// The kind of a public key, which decides where a signature is looked for.
package enum SignatureForm: String, Hashable, Codable, Sendable {
    /// A keyring or certificate (RFC 9580).
    case openPGP
    case minisign
    /// OpenBSD's signify(1).
    case signify

    /// - Parameter key: The file with the public key.
    package init(key: [UInt8]) {
        let start = String(decoding: key.prefix(200), as: UTF8.self)
        let first = start.byteLines.first { !$0.isEmpty } ?? ""
        if first.firstRange(of: "minisign") != nil {
            self = .minisign
        } else if first.hasPrefix("untrusted comment:") {
            self = .signify
        } else {
            // A minisign key is also written without its comment: "Ed" in base64, 42 bytes.
            self =
                first.hasPrefix("RW") && first.trimmingBlanks.utf8.count == 56
                ? .minisign : .openPGP
        }
    }

    /// What is appended to the URL of a list, in the order of tries.
    package var suffixes: [String] {
        switch self {
        case .openPGP: [".gpg", ".sig", ".sign", ".asc"]
        case .minisign: [".minisig", ".sig"]
        case .signify: [".sig", ".sign"]
        }
    }
}

/// A signature that is to be checked by the program of its form before a list is believed.
package struct SignatureCheck: Hashable, Sendable {
    package var form: SignatureForm
    /// The signed list; with a signature in it where ``signature`` is `nil`.
    package var data: [UInt8]
    package var signature: [UInt8]?

    package init(_ form: SignatureForm, of data: [UInt8], signature: [UInt8]?) {
        self.form = form
        self.data = data
        self.signature = signature
    }

    /// Paths of the files that a program reads.
    package struct Files: Hashable, Sendable {
        package var key: String
        package var data: String
        package var signature: String

        package init(key: String, data: String, signature: String) {
            self.key = key
            self.data = data
            self.signature = signature
        }
    }

    /// The commands that check it, any of which will do: the first whose program is installed is
    /// run. Exit status 0 alone means that a key of the file has signed the list.
    package func commands(_ files: Files) -> [[String]] {
        let isInline = signature == nil
        switch form {
        case .openPGP:
            // gpgv(1) reads a keyring that is not armoured: see ``binaryKey(_:)``.
            let gpgv = ["gpgv", "--keyring", files.key]
            if isInline { return [gpgv + [files.data]] }
            return [
                gpgv + [files.signature, files.data],
                ["sqv", "--keyring", files.key, files.signature, files.data],
            ]
        case .minisign:
            return [
                ["minisign", "-V", "-q", "-p", files.key, "-x", files.signature, "-m", files.data]
            ]
        case .signify:
            // Debian's `signify` is another program.
            return ["signify-openbsd", "signify"].map { program in
                isInline
                    ? [program, "-V", "-e", "-p", files.key, "-x", files.data, "-m", "-"]
                    : [program, "-V", "-p", files.key, "-x", files.signature, "-m", files.data]
            }
        }
    }

    /// A keyring or certificate without its armour (RFC 9580 §6), which gpgv(1) cannot read.
    package static func binaryKey(_ key: [UInt8]) -> [UInt8] {
        var binary: [UInt8] = []
        var block: String?
        var isBody = false
        for line in String(decoding: key, as: UTF8.self).byteLines {
            if line.hasPrefix("-----BEGIN PGP PUBLIC KEY BLOCK") {
                (block, isBody) = ("", false)
            } else if line.hasPrefix("-----END PGP") {
                binary += block.flatMap { Base64.decode($0) } ?? []
                block = nil
            } else if line.trimmingBlanks.isEmpty {
                isBody = true
            } else if isBody, line.first != "=" {
                // A line that begins so is the checksum.
                block? += line.trimmingBlanks
            }
        }
        return binary.isEmpty ? key : binary
    }
}
