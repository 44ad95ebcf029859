package import LonghaulCore

extension PartFile {
    /// Deletes a part file that belongs to nobody any more, if it still is that file. That it is
    /// gone already is fine, and nobody can be told of another failure.
    package static func discard(_ part: LeftPart) {
        guard let (directory, _) = PathParts.split(part.path),
            let handle = try? DirectoryHandle(opening: directory)
        else { return }
        discard(part, in: handle)
    }

    /// ``discard(_:)`` in the open directory of its path.
    package static func discard(_ part: LeftPart, in directory: DirectoryHandle) {
        guard let (_, name) = PathParts.split(part.path),
            // By all that tells it from others, and not by its number alone.
            case .present(part.identity, _) = FileInspection.entry(at: directory.path(of: name))
        else { return }
        try? directory.remove(name)
    }
}
