internal import LonghaulCore
internal import LonghaulPlatform

/// Fewest open files that `doctor` accepts: with fewer, hardly more than one transfer has its
/// files and connections.
private let doctorOpenFiles = 64
/// A store written this much later than now shows a wrong clock: clocks are corrected by less
/// every day.
private let doctorClockSeconds: Double = 60

/// Checks what Longhaul needs of the machine, besides the store.
enum MachineDoctor {
    /// Newer than every store that may be met, and older than every right clock.
    private static let firstDay = Timestamp(milliseconds: 1_767_225_600_000)

    /// - Parameter newest: when the store was last written, by the clock as it was then.
    static func clock(now: Timestamp, newest: Timestamp?) -> DoctorFinding {
        let shown = RFC3339.format(now)
        var problem: String?
        if now < firstDay {
            problem = "it shows \(shown): certificates and deadlines are judged by it"
        } else if let newest, newest - now > doctorClockSeconds {
            problem = "it shows \(shown), and the queue was written at \(RFC3339.format(newest))"
        }
        return DoctorFinding(
            check: "clock", ok: problem == nil, detail: problem ?? shown,
            fix: problem == nil ? nil : "set the clock (`timedatectl set-ntp true`)")
    }

    /// - Parameters:
    ///   - openFiles: `ulimit -n`.
    ///   - fileBytes: `ulimit -f`; `nil` = no limit.
    static func limits(openFiles: Int, fileBytes: UInt64?) -> DoctorFinding {
        var problems: [String] = []
        var fixes: [String] = []
        if openFiles < doctorOpenFiles {
            problems.append("only \(openFiles) files may be open at a time")
            fixes.append("`ulimit -n 1024`")
        }
        if let fileBytes {
            let size = SizeText.shown(Int64(clamping: fileBytes))
            problems.append("no file may have more than \(size)")
            fixes.append("`ulimit -f unlimited`")
        }
        let files = openFiles == .max ? "any number of" : "\(openFiles)"
        return DoctorFinding(
            check: "limits", ok: problems.isEmpty,
            detail: problems.isEmpty ? "\(files) open files" : problems.joined(separator: "; "),
            fix: fixes.isEmpty ? nil : "raise it: " + fixes.joined(separator: ", "))
    }
}
