internal import LonghaulCore
internal import LonghaulPlatform

extension Installation {
    /// - Parameters:
    ///   - runOptions: for the timer's `longhaul run`.
    ///   - spread: Of the timer, in seconds; `nil` = 5 minutes.
    package func unitTexts(
        runOptions: [String], spread: Double? = nil
    ) throws(LonghaulError) -> [InstallText] {
        let directory = try unitDirectory()
        return try units(runOptions, spread).files.map {
            InstallText(path: PathParts.join(directory, $0.name), text: $0.text)
        }
    }

    /// Writes the units, and has the user's service manager take them up if there is one to talk
    /// to.
    package func installUnits(
        runOptions: [String], spread: Double? = nil
    ) throws(LonghaulError) -> [InstallStep] {
        let texts = try unitTexts(runOptions: runOptions, spread: spread)
        // The store's directory comes first: the file that is watched lies in it.
        _ = try TransferQueue(directory: queue)
        var before: [Standing] = []
        for text in texts { before.append(try standing(text)) }
        let areNone = before.allSatisfy { $0 == .none }
        let isPackaged = areNone ? try arePackaged(runOptions, spread) : false
        var steps: [InstallStep] = []
        do throws(SystemFailure) {
            try ActivationFile.create(in: queue)
            for (text, standing) in zip(texts, before) where !isPackaged {
                let path = text.path ?? ""
                if standing != .same { try TextFile.write(text.text, to: path) }
                steps.append(.file(path, standing == .same ? .unchanged : .written))
            }
        } catch {
            throw error.longhaulError()
        }
        let taken = try takeUp(isOther: before.contains(.other))
        let isTaken = taken.contains { $0.hasRun }
        return steps + taken + [isTaken ? lingering() : reaching()].compactMap { $0 }
    }

    /// True if units start engines of this user: the user's own, or a package's that were enabled
    /// for this user or for all.
    func hasUnits() throws(LonghaulError) -> Bool {
        let directory = try unitDirectory()
        return try !installedUnits(in: directory).isEmpty
            || Installation.areEnabled(in: directory)
            || Installation.areEnabled(in: "/etc/systemd/user")
    }

    /// Directory of the units of a package, which are the user's once they are enabled.
    private static let packageDirectory = "/usr/lib/systemd/user"

    private static func areEnabled(in directory: String) -> Bool {
        ServiceUnits.links.contains { target, name in
            FileInspection.entry(at: PathParts.join(directory, "\(target)/\(name)")) != .missing
        }
    }

    /// True if this user has enabled the units of a package.
    private static func arePackagedEnabled(in directory: String) -> Bool {
        let name = "longhaul.service"
        return areEnabled(in: directory)
            && FileInspection.entry(at: PathParts.join(packageDirectory, name)) != .missing
            && FileInspection.entry(at: PathParts.join(directory, name)) == .missing
    }

    /// True if a package has units that say the same, so that none need be written.
    private func arePackaged(
        _ runOptions: [String], _ spread: Double?
    ) throws(LonghaulError) -> Bool {
        guard let home = environment["HOME"] else { return false }
        for unit in try units(runOptions, spread).files {
            let path = PathParts.join(Installation.packageDirectory, unit.name)
            guard let packaged = try read(path),
                unit.isEqual(toPackaged: String(decoding: packaged, as: UTF8.self), home: home)
            else { return false }
        }
        return true
    }

    private func installedUnits(in directory: String) throws(LonghaulError) -> [String] {
        var found: [String] = []
        for name in ServiceUnits.names {
            let path = PathParts.join(directory, name)
            if let text = try read(path), text.starts(with: ServiceUnits.mark.utf8) {
                found.append(name)
            }
        }
        return found
    }

    func removeUnits() throws(LonghaulError) -> [InstallStep] {
        let directory = try unitDirectory()
        let found = try installedUnits(in: directory)
        let packaged = Installation.arePackagedEnabled(in: directory) ? ServiceUnits.enabled : []
        var steps: [InstallStep] = []
        if !found.isEmpty || !packaged.isEmpty {
            steps += try commands([["disable", "--now"] + (found.isEmpty ? packaged : found)])
            for name in found { steps += try remove(PathParts.join(directory, name)) }
            // Links that enabled the units stay if no manager removed them.
            for (target, name) in ServiceUnits.links {
                try remove(PathParts.join(directory, "\(target)/\(name)"))
            }
            steps += try commands([["daemon-reload"]])
            // The deepest first.
            let targets = Set(ServiceUnits.links.map(\.0)).map { PathParts.join(directory, $0) }
            let parent = PathParts.split(directory)?.directory
            for path in targets + [directory] + [parent].compactMap({ $0 }) {
                TextFile.removeEmptyDirectory(path)
            }
        }
        return steps + (try remove(ActivationFile.path(in: queue)))
    }

    // MARK: -

    private func units(
        _ runOptions: [String], _ spread: Double?
    ) throws(LonghaulError) -> ServiceUnits {
        let units = ServiceUnits(
            executable: executable, activation: ActivationFile.path(in: queue),
            environment: try inherited(), runOptions: runOptions,
            spread: spread ?? ServiceUnits.usualSpread)
        guard let units else {
            throw LonghaulError(
                .invalidRequest,
                "a path has a control character in it, which no unit file can say")
        }
        return units
    }

    private func unitDirectory() throws(LonghaulError) -> String {
        guard let directory = UserDirectories.configuration(environment: environment) else {
            throw LonghaulError(
                .unsupported, "there is no home directory for the units; set XDG_CONFIG_HOME")
        }
        return PathParts.join(directory, "systemd/user")
    }

    /// File in a unit's place.
    private enum Standing {
        case none, same, other
    }

    /// Inspects the file in a unit's place; throws if Longhaul did not write it, since it must not
    /// be overwritten.
    private func standing(_ text: InstallText) throws(LonghaulError) -> Standing {
        let path = text.path ?? ""
        guard let there = try read(path) else { return .none }
        if there.elementsEqual(text.text.utf8) { return .same }
        guard there.starts(with: ServiceUnits.mark.utf8) else {
            throw LonghaulError(
                .conflict,
                "\(path) is there and was not written by `longhaul install`; move it away first")
        }
        return .other
    }

    private func read(_ path: String) throws(LonghaulError) -> [UInt8]? {
        do {
            return try TextFile.read(path)
        } catch {
            throw error.longhaulError()
        }
    }

    @discardableResult
    private func remove(_ path: String) throws(LonghaulError) -> [InstallStep] {
        do {
            return try TextFile.remove(path) ? [.file(path, .removed)] : []
        } catch {
            throw error.longhaulError()
        }
    }

    /// Starts the installed units. Units that run with an older text are restarted.
    private func takeUp(isOther: Bool) throws(LonghaulError) -> [InstallStep] {
        var wanted = [["daemon-reload"], ["enable", "--now"] + ServiceUnits.enabled]
        if isOther { wanted.append(["try-restart"] + ServiceUnits.enabled) }
        return try commands(wanted, isNeeded: true)
    }

    /// Tells the user's service manager, as far as there is one; else says what to type where there
    /// is one.
    ///
    /// - Parameter isNeeded: Without one nothing would run: these commands have failed then.
    private func commands(
        _ wanted: [[String]], isNeeded: Bool = false
    ) throws(LonghaulError) -> [InstallStep] {
        let unreachable = InstallStep.unreachable
        let isReachable =
            ProgramRun.find("systemctl", environment: environment) != nil
            ? try run("systemctl", ["--user", "show", "--property=Version"]).status == 0 : false
        var steps: [InstallStep] = []
        for arguments in wanted {
            let line = (["systemctl", "--user"] + arguments).joined(separator: " ")
            if isReachable {
                let failure = try run("systemctl", ["--user"] + arguments).failure
                steps.append(.command(line, failure: failure))
            } else if isNeeded {
                steps.append(.command(line, failure: unreachable))
            } else {
                steps.append(.advice(unreachable, command: line))
            }
        }
        return steps
    }

    /// How the user gets the service manager that was not reached.
    private func reaching() -> InstallStep {
        guard ProgramRun.find("systemctl", environment: environment) != nil,
            let user = UserDirectories.userName
        else {
            return .advice(
                "there is no systemd here; cron runs the queue as well",
                command: "longhaul install --cron @hourly")
        }
        return .advice(
            "a user has a service manager while logged in or lingering; su and sudo do not lead to "
                + "it",
            command: "loginctl enable-linger \(user) && "
                + "XDG_RUNTIME_DIR=/run/user/$(id -u) longhaul install --systemd")
    }

    /// Without it a user's services end with the last session.
    private func lingering() -> InstallStep? {
        guard let user = UserDirectories.userName else { return nil }
        if FileInspection.entry(at: "/var/lib/systemd/linger/\(user)") != .missing { return nil }
        return .advice(
            "services of a user end when the user logs out, and begin at log-in, unless the user "
                + "lingers", command: "loginctl enable-linger")
    }
}

extension ServiceUnits {
    /// Links that enable the units: directory and name.
    fileprivate static let links = [
        ("default.target.wants", "longhaul.service"), ("default.target.wants", "longhaul.path"),
        ("timers.target.wants", "longhaul-run.timer"),
    ]
}
