/// Text that is compared byte by byte: paths, names of files, credentials, version names.
///
/// Two `String`s are equal to Swift if they are canonically equivalent in Unicode: `é` in one
/// scalar, and as `e` with a combining accent. To Linux these are two files, and to a server two
/// passwords. So collections use this type as the key for such texts, and such texts are compared
/// by ``Swift/String/isExactly(_:)``.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.isExactly(right.text)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A separator that no text has in it.
        hasher.combine(UInt8.max)
    }
}

extension String {
    /// The same bytes.
    package func isExactly(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (own, other) = (self, other)
        return own.withUTF8 { own in
            other.withUTF8 { other in
                UnsafeRawBufferPointer(own).isEqual(to: UnsafeRawBufferPointer(other))
            }
        }
    }
}

extension StringProtocol {
    /// True if a path begins at the root. A mark put to the slash is of the name behind it.
    package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

    /// Returns the text with `text` in the place of each `byte`, even before combining characters.
    package func replacing(_ byte: UInt8, with text: String) -> String {
        var bytes: [UInt8] = []
        for own in utf8 {
            if own == byte { bytes += text.utf8 } else { bytes.append(own) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// A word at a time: a list of a million asks it a dozen times for each line.
    fileprivate func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while offset + 8 <= count {
            let own = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if own != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
            offset += 8
        }
        return self[offset...].elementsEqual(other[offset...])
    }
}

extension String? {
    /// The same bytes, or nothing both.
    package func isExactly(_ other: String?) -> Bool {
        switch (self, other) {
        case (let own?, let other?): own.isExactly(other)
        case (nil, nil): true
        case (nil, _?), (_?, nil): false
        }
    }
}

extension TransferRequest {
    /// Equal, and its texts are to the byte: another spelling is another resource or password.
    package func isExactly(_ other: TransferRequest) -> Bool {
        self == other && url.isExactly(other.url) && session.isExactly(other.session)
            && sharedOptions.isExactly(other.sharedOptions)
    }
}

extension CopyOnWrite<TransferOptions> {
    package func isExactly(_ other: Self) -> Bool {
        isSame(other) || (self == other && value.hasTexts(of: other.value))
    }
}

extension TransferOptions {
    /// Header fields are compared by their bytes anyway.
    fileprivate func hasTexts(of other: TransferOptions) -> Bool {
        user.isExactly(other.user) && proxy.isExactly(other.proxy)
            && caCertificate.isExactly(other.caCertificate)
            && clientCertificate.isExactly(other.clientCertificate)
            && clientKey.isExactly(other.clientKey) && metadata.isExactly(other.metadata)
            && mirrors.elementsEqual(other.mirrors) { $0.isExactly($1) }
    }
}
