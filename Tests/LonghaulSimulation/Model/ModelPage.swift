/// The tables of `docs/internals/model.md`, made from the model.
enum ModelPage {
    /// What each command does in each state.
    static var commands: [String] {
        let head = ["state"] + ModelVerb.allCases.map { "`\($0.rawValue)`" }
        let rows = ModelState.allCases.map { state in
            ["`\(state.rawValue)`"]
                + ModelVerb.allCases.map { ModelRules.documented[$0, state].words(in: state) }
        }
        return table(head, rows)
    }

    /// What an engine may do without a command.
    static var steps: [String] {
        let rows = ModelEdge.all.map { edge in
            [
                "`\(edge.from.rawValue)`", "`\(edge.to.rawValue)`", edge.when.words,
                edge.to.event.map { "`\($0)`" } ?? "",
            ]
        }
        return table(["from", "to", "when", "event"], rows)
    }

    /// What keeps a transfer from running.
    static var holds: [String] {
        let rows = ModelHold.allCases.map { hold in
            ["`\(hold.rawValue)`", hold.words, hold.isSetAside ? "yes" : "no"]
        }
        return table(["reason", "while", "set aside by `now`"], rows)
    }

    static var tables: [[String]] { [commands, steps, holds] }

    private static func table(_ head: [String], _ rows: [[String]]) -> [String] {
        let rule = head.map { _ in "---" }
        return ([head, rule] + rows).map { cells in
            "|"
                + cells.map { $0 == "---" ? $0 : $0.isEmpty ? " " : " \($0) " }.joined(
                    separator: "|")
                + "|"
        }
    }
}
