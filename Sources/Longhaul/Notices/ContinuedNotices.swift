internal import LonghaulCore
internal import LonghaulStore

/// Between two changes of what the desktop shows of a continued task.
private let shownProgressSeconds: Double = 5

/// Continued tasks for the user: while one runs, the desktop shows one notification with its title
/// and progress; its end has a notice, recorded with the end, which takes that place.
struct ContinuedNotices {
    private struct Shown: Equatable {
        var title: String
        var text: String
        var at: Timestamp
    }

    /// The tasks that the desktop shows, by tag.
    private var shown: [String: Shown] = [:]

    /// Notifies of the end of one.
    mutating func end(_ ended: TaskNotice, _ outlet: NoticeOutlet) {
        let tag = Self.tag(ended.host, ended.identifier)
        if let notice = Notice(continued: ended.identifier, title: ended.name, ended.run) {
            outlet.deliver(notice, tag: tag)
        }
        shown[tag] = nil
    }

    /// - Returns: When to look again while one runs.
    mutating func follow(
        _ running: [TaskRecord], _ outlet: NoticeOutlet, now: Timestamp
    ) -> Timestamp? {
        for task in running { show(task, outlet, now: now) }
        let present = Set(running.map { Self.tag($0.request.host ?? "", $0.request.identifier) })
        // Stopped by a person, or waiting again.
        for (tag, last) in shown where !present.contains(tag) {
            outlet.show(title: "\(last.title) was stopped", text: "", tag: tag)
            shown[tag] = nil
        }
        return running.isEmpty ? nil : now + shownProgressSeconds
    }

    private mutating func show(_ task: TaskRecord, _ outlet: NoticeOutlet, now: Timestamp) {
        let tag = Self.tag(task.request.host ?? "", task.request.identifier)
        let percent = task.progress.map { "\($0.percent) %" }
        let next = Shown(
            title: task.continued?.title ?? "",
            text: [percent, task.continued?.subtitle].compactMap(\.self).joined(separator: "\n"),
            at: now)
        if let last = shown[tag] {
            let isSame = last.title == next.title && last.text == next.text
            // A clock that was set back holds nothing up.
            if isSame || (last.at...(last.at + (shownProgressSeconds - 0.5))).contains(now) {
                return
            }
        }
        shown[tag] = next
        outlet.show(title: next.title, text: next.text, tag: tag)
    }

    private static func tag(_ host: String, _ identifier: String) -> String {
        "\(host)/\(identifier)"
    }
}
