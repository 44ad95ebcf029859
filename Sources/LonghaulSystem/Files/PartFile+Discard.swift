internal import LonghaulCore

extension PartFile {
    private static let suffix = ".longhaul-part"

    /// Deletes a part file that belongs to nobody any more; anything but a plain file by a part
    /// file's name is left alone. That it is gone already is fine, and nobody can be told of
    /// another failure.
    package static func discard(_ path: String) {
        guard path.hasSuffix(suffix), let (directory, name) = PathParts.split(path),
            let handle = try? DirectoryHandle(opening: directory)
        else { return }
        switch FileInspection.entry(at: path) {
        case .present: try? handle.remove(name)
        case .missing, .unusable: return
        }
    }
}
