internal import Logging
internal import LonghaulCore
internal import LonghaulStore

extension EngineJournal {
    func launches(_ host: String, isJob: Bool, _ launch: PreparedLaunch) {
        if isJob {
            logger.info(
                "a job begins a run",
                metadata: ["job": "\(host)", "run": "\(launch.id.rawValue)"])
            return
        }
        logger.info(
            "a host is launched",
            metadata: [
                "host": "\(host)", "launch": "\(launch.id.rawValue)",
                "reason": "\(launch.handover.reason.rawValue)",
                "session": "\(launch.handover.session ?? "none")",
                "events": "\(launch.handover.count)", "tasks": "\(launch.handover.tasks.count)",
            ])
    }

    func resultRefused(_ host: String, _ id: LaunchID, _ task: String) {
        logger.warning(
            "a host tells the result of a task that its launch does not carry, or of one twice",
            metadata: [
                "host": "\(host)", "launch": "\(id.rawValue)", "task": "\(task)",
            ])
    }

    func launchEnded(
        _ host: String, isJob: Bool, _ id: LaunchID, _ how: LaunchEnding, status: Int?
    ) {
        let isWell = how == .exited && status == 0
        logger.log(
            level: isWell ? .info : .warning, isJob ? "a run of a job ended" : "a launch ended",
            metadata: [
                isJob ? "job" : "host": "\(host)", isJob ? "run" : "launch": "\(id.rawValue)",
                "how": "\(how.rawValue)",
                "status": "\(status.map(String.init) ?? "unknown")",
            ])
    }

    func answerRefused(_ host: String?, _ id: LaunchID, _ message: String) {
        logger.warning(
            "an answer of a host is refused; the transfer waits on",
            metadata: [
                "host": "\(host ?? "unknown")", "launch": "\(id.rawValue)",
                "why": "\(Redaction.text(message))",
            ])
    }

    func answersLost(_ host: String, _ id: LaunchID, _ error: LonghaulError) {
        logger.warning(
            "the answers of a host cannot be recorded; it is asked again",
            metadata: [
                "host": "\(host)", "launch": "\(id.rawValue)",
                "why": "\(Redaction.text(error.message))",
            ])
    }

    func launchFailed(_ host: String, isJob: Bool, _ message: String) {
        logger.warning(
            isJob ? "a job cannot be run" : "a host cannot be launched",
            metadata: [
                isJob ? "job" : "host": "\(host)", "why": "\(Redaction.text(message))",
            ])
    }
}
