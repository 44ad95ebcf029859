import LonghaulCore

@testable import LonghaulPlatform

extension PartFile {
    /// Under a name that no other store has.
    static func create(
        _ name: String, in directory: DirectoryHandle
    ) throws(SystemFailure) -> PartFile {
        try create([PartName(name, isOneStores: true)], in: directory)
    }

    static func create(
        _ name: String, in directory: DirectoryHandle, copying source: Int32, length: Int64,
        methods: [CopyMethod] = [.reflink, .kernel, .readAndWrite]
    ) throws(SystemFailure) -> (file: PartFile, method: CopyMethod) {
        try create(
            [PartName(name, isOneStores: true)], in: directory, copying: source, length: length,
            methods: methods)
    }
}
