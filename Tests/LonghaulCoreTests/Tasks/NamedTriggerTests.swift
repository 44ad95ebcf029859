import Foundation
import LonghaulCore
import LonghaulTestValues
import Testing

/// Triggers with a name: what fires them, and what does not.
@Suite struct NamedTriggerTests {
    private static let start = Timestamp(milliseconds: 1_767_225_600_000)
    private var start: Timestamp { Self.start }

    // MARK: - Texts

    @Test(arguments: [
        ("mount=backup", TaskTrigger.mount("backup")), ("network=home", .network("home")),
        ("path=/in", .path("/in", settle: 10)), ("path=/in;settle=60", .path("/in", settle: 60)),
        ("path=/a;settle=x", .path("/a;settle=x", settle: 10)), ("mount", .mount),
    ])
    func aTriggerIsReadAndWritten(text: String, trigger: TaskTrigger) throws {
        #expect(TaskTrigger(rawValue: text) == trigger && trigger.rawValue == text)
        let json = try JSONEncoder().encode([trigger])
        #expect(try JSONDecoder().decode([TaskTrigger].self, from: json) == [trigger])
    }

    @Test(arguments: [
        "mount=", "mount=a/b", "network=!home", "network=a|b", "path=in", "path=", "power=x",
        "Mount", "path=/a,b",
    ])
    func noTrigger(text: String) {
        // A comma separates triggers; a path may have one where a program gives it.
        #expect(TaskTrigger(rawValue: text) == nil || text == "path=/a,b")
    }

    @Test func aProgramsTriggersAreChecked() {
        for trigger: TaskTrigger in [
            .mount(""), .mount("a,b"), .network("!a"), .path("in", settle: 10),
            .path("/in", settle: -1), .path("/in", settle: 100_000),
        ] {
            var request = TaskRequest(identifier: "t")
            request.triggers = [trigger]
            #expect(request.defect != nil, "\(trigger)")
        }
    }

    // MARK: - The world

    /// An engine's looks, one after the other: which of the triggers fire at each.
    private func fired(
        _ triggers: Set<TaskTrigger>, _ looks: [(inout WorldFacts) -> Void]
    ) -> [[TriggerEvent]] {
        var before: WorldFacts?
        return looks.map { look in
            var facts = WorldFacts()
            facts.network = .unmetered
            look(&facts)
            guard let old = before else {
                before = facts.completed(by: facts)
                return []
            }
            facts = facts.completed(by: old)
            before = facts
            return facts.events(since: old, for: triggers).filter { triggers.contains($0.trigger) }
        }
    }

    @Test func aFileSystemIsMounted() {
        func mounted(_ names: [String: String], _ looked: Set<String>?)
            -> (inout WorldFacts) -> Void
        {
            {
                $0.fileSystems = MountedFileSystems(names)
                $0.fileSystems?.looked = looked
            }
        }
        let on = mounted(["a": "/m/a"], ["a", "b"])
        let off = mounted([:], ["a", "b"])
        let event = TriggerEvent(.mount("a"), path: "/m/a")
        let unknown: (inout WorldFacts) -> Void = { _ in }
        let notLooked = mounted([:], [])
        #expect(fired([.mount("a")], [off, on, on, off, on]) == [[], [event], [], [], [event]])
        // It was there when the first engine looked; it is not known for a while.
        #expect(fired([.mount("a")], [on, unknown, on]) == [[], [], []])
        #expect(fired([.mount("a")], [off, unknown, on]) == [[], [], [event]])
        // Looked for since the request came.
        #expect(fired([.mount("a")], [notLooked, on]) == [[], []])
        #expect(fired([.mount("b")], [off, on]) == [[], []])
        // An override tells no directory.
        #expect(
            fired([.mount("a")], [mounted([:], nil), mounted(["a": ""], nil)])
                == [[], [TriggerEvent(.mount("a"))]])
    }

    private static let home = NetworkPlace(gateway: "02::1", prefixes: ["10.0.0.0/8"])
    private static let work = NetworkPlace(gateway: "02::2", prefixes: ["10.0.0.0/8"])

    private func on(
        _ place: NetworkPlace?, _ connection: [String]? = [],
        known: [String: NetworkPlace] = ["home": home, "work": work]
    ) -> (inout WorldFacts) -> Void {
        { $0.names = NetworkNames(place: place, connection: connection, known: known) }
    }

    @Test func theMachineComesOntoANetwork() {
        let offline: (inout WorldFacts) -> Void = { $0.network = .offline }
        let event = [TriggerEvent(.network("home"))]
        func check(
            _ looks: [(inout WorldFacts) -> Void], _ expected: [Bool],
            at location: SourceLocation = #_sourceLocation
        ) {
            let seen = fired([.network("home")], looks)
            #expect(seen == expected.map { $0 ? event : [] }, sourceLocation: location)
        }
        check([on(Self.work), on(Self.home), on(Self.home)], [false, true, false])
        check([on(Self.home), offline, on(Self.home)], [false, false, true])
        // The gateway answers a moment after the link is there.
        check([offline, on(nil), on(Self.home)], [false, false, true])
        check([on(Self.home), on(nil), on(Self.home)], [false, false, false])
        check([on(Self.home, known: [:]), on(Self.home)], [false, false])
        // By NetworkManager, which may begin anew.
        check([on(nil, ["work", "2"]), on(nil, ["home", "1"])], [false, true])
        check(
            [on(nil, ["home", "1"]), on(nil, []), on(nil, ["home", "1"])], [false, false, false])
        check([on(nil, nil), on(nil, ["home", "1"])], [false, false])
        check([offline, on(nil, nil), on(nil, ["home", "1"])], [false, false, true])
    }

    // MARK: - Paths

    private static func entry(
        _ stamp: Int64, at second: Double, complete: Bool = true
    ) -> PathFacts.Entry {
        PathFacts.Entry(stamp: stamp, changedAt: start + second, isComplete: complete)
    }

    /// A task that waits for files, and the plans of engines after each other.
    private func files(_ looks: [[String: PathFacts.Entry]?]) -> [[String]] {
        let trigger = TaskTrigger.path("/in", settle: 10)
        var request = TaskRequest(identifier: "t", host: "h")
        request.triggers = [trigger]
        let task = StoredTask(
            id: TaskID(rawValue: 1), kind: .refresh, request: request, host: "h",
            timing: TaskTiming(dueAt: .distantFuture), submittedAt: start)
        var world: WorldFacts?
        return looks.map { look in
            var snapshot = TaskSnapshot()
            snapshot.tasks = [task]
            snapshot.hosts["h"] = HostFacts(name: "h")
            snapshot.world = world
            var news = TaskNews()
            news.world = WorldFacts()
            news.isFirst = true
            if let look { news.paths[trigger] = PathFacts(look) }
            let plan = TaskPlan.decide(snapshot, .favourable, news, now: start + 100)
            world = plan.changes.world
            return plan.changes.written.first?.trigger?.events.first?.files ?? []
        }
    }

    @Test func aFileThatIsCompleteFires() {
        let old = Self.entry(1, at: -5)
        let growing = Self.entry(2, at: 20, complete: false)
        let whole = Self.entry(3, at: 30)
        // What was there when the task was submitted is nothing new, though it still settles.
        #expect(
            files([["a": old], ["a": old]]) == [[], []])
        #expect(
            files([["a": Self.entry(1, at: -5, complete: false)], ["a": old]]) == [[], []])
        #expect(
            files([["a": old], ["a": old, "b": growing], ["a": old, "b": whole]])
                == [[], [], ["/in/b"]])
        // Between the submission and the first engine, also after a kill while it settles.
        #expect(files([["b": whole]]) == [["/in/b"]])
        #expect(
            files([["b": growing], nil, ["b": whole], ["b": whole]]) == [[], [], ["/in/b"], []])
        // Written again, replaced, the path itself.
        #expect(
            files([["a": old], ["a": whole, ".": Self.entry(9, at: 40)]])
                == [[], ["/in", "/in/a"]])
        // Opened for writing and left as it was; deleted again.
        #expect(
            files([["a": old], ["a": Self.entry(1, at: -5, complete: false)], ["a": old]])
                == [[], [], []])
        #expect(files([["a": old], ["b": growing], [:]]) == [[], [], []])
    }

    @Test func anEventNamesAHundredFiles() {
        let many = (0..<150).map { ("f\(1000 + $0)", Self.entry(Int64($0), at: 5)) }
        let seen = files([[:], Dictionary(uniqueKeysWithValues: many)])
        #expect(seen[1].count == 100 && seen[1].first == "/in/f1000")
    }

    /// What fires before the run is handed over together.
    @Test func filesOfSeveralEventsAreJoined() {
        let trigger = TaskTrigger.path("/in", settle: 10)
        let first = FiredTrigger([TriggerEvent(trigger, files: ["/in/a", "/in/b"])], at: start)
        let both = first.adding(
            FiredTrigger(
                [TriggerEvent(.boot), TriggerEvent(trigger, files: ["/in/b", "/in/c"])],
                at: start + 1))
        #expect(
            both.events == [
                TriggerEvent(.boot), TriggerEvent(trigger, files: ["/in/a", "/in/b", "/in/c"]),
            ])
    }

    /// The record of a version without names.
    @Test func anOldRecordOfTheWorldIsRead() throws {
        let text = #"{"bootID":"a","mounts":[1,2],"network":"unmetered","resumes":3}"#
        let world = try JSONDecoder().decode(WorldFacts.self, from: Data(text.utf8))
        #expect(world.mounts == [1, 2] && world.names == nil && world.paths == nil)
    }
}
