extension FetchMachine {
    /// Requests that this fetch may have on the wire at a time, whatever the origin's budget.
    package var connectionsMax: Int {
        switch request.options.connections {
        // A limited transfer gains nothing by more.
        case .automatic: request.options.limitRate == nil ? Limits.automaticSegments : 1
        case .exactly(let count): min(max(1, count), Limits.segmentsPerFetch)
        }
    }

    /// Another connection, where it helps.
    mutating func split(_ context: FetchContext, _ step: inout FetchStep) {}
}
