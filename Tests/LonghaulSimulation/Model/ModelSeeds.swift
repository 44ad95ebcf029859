/// Scripts of the model by their seeds.
extension ModelDraw {
    static func script(of seed: UInt64) -> [ModelStep] {
        var draw = ModelDraw(seed: seed)
        return draw.script()
    }

    /// How a script breaks a promise in the world of a seed; `nil` = it does not.
    static func complaint(
        _ seed: UInt64, _ script: [ModelStep], rules: ModelRules = .documented,
        fault: ModelFault? = nil
    ) throws -> String? {
        let world = try SimWorld(seed: seed)
        defer { world.cleanUp() }
        do {
            try ModelRun(world, rules: rules, fault: fault).carryOut(script)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The smallest script that still breaks a promise, as commands, with what it breaks and what
    /// happened.
    static func shrunk(
        _ seed: UInt64, rules: ModelRules = .documented, fault: ModelFault? = nil
    ) throws -> [String] {
        let script = try smallest(seed, rules: rules, fault: fault)
        let world = try SimWorld(seed: seed, isTracing: true)
        defer { world.cleanUp() }
        var text = ""
        do {
            try ModelRun(world, rules: rules, fault: fault).carryOut(script)
        } catch {
            text = "\(error)"
        }
        return world.trace + ["the script:"] + script.map { "    \($0)" } + ["breaks: \(text)"]
    }

    static func smallest(
        _ seed: UInt64, rules: ModelRules = .documented, fault: ModelFault? = nil
    ) throws -> [ModelStep] {
        let script = script(of: seed)
        let complaint = try complaint(seed, script, rules: rules, fault: fault).map(kind)
        var shrinker = ModelShrinker { script in
            let found = try? Self.complaint(seed, script, rules: rules, fault: fault)
            return found.flatMap { $0 }.map(kind) == complaint
        }
        return complaint == nil ? script : shrinker.shrink(script)
    }

    /// A complaint without its numbers: a smaller script has others.
    private static func kind(_ complaint: String) -> String {
        complaint.filter { !$0.isNumber }
    }
}
