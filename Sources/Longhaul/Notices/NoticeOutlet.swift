internal import LonghaulCore
internal import LonghaulPlatform

/// Time for the user's command.
private let noticeCommandSeconds: Double = 30

/// Delivers notices to the user: on the desktop, and by the command of the configuration.
final class NoticeOutlet: Sendable {
    private let settings: NoticeSettings
    private let desktop: DesktopNotifier
    private let environment: [String: String]

    init(_ settings: NoticeSettings, environment: [String: String] = Environment.all()) {
        self.settings = settings
        self.environment = environment
        desktop = DesktopNotifier(
            address: settings.desktop ? DesktopNotifier.sessionBus(environment) : nil)
    }

    /// As the configuration file says. A host program has its own user interface: what it embeds
    /// does not run the command of the user's file.
    convenience init(for mode: EngineMode) {
        let file = mode == .embedded ? nil : try? ConfigurationFile.read()
        self.init(file?.notices ?? NoticeSettings())
    }

    /// Shows something on the desktop alone, in the place of what has the same tag.
    func show(title: String, text: String, tag: String) {
        desktop.show(DesktopNotifier.Notification(title: title, text: text, tag: tag))
    }

    /// Waits for the command, half a minute at most; the desktop shows it meanwhile.
    ///
    /// - Parameter tag: It takes the place of what the desktop shows with this tag.
    func deliver(_ notice: Notice, tag: String? = nil) {
        desktop.show(
            DesktopNotifier.Notification(title: notice.title, text: notice.text, tag: tag))
        guard let program = settings.command.first else { return }
        var environment = environment
        environment.merge(notice.environment) { $1 }
        do throws(SystemFailure) {
            let run = try ProgramRun.run(
                program, Array(settings.command.dropFirst()), environment: environment,
                limit: noticeCommandSeconds)
            if run.status != 0 {
                ProgramNotice.noticeCommand(program, "it ended with \(run.status)").log()
            }
        } catch {
            ProgramNotice.noticeCommand(program, error.longhaulError().message).log()
        }
    }

    /// Waits until everything is delivered or given up.
    func finish() { desktop.finish() }
}
