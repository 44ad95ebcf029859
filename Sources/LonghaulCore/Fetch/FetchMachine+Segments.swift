extension FetchMachine {
    /// Another connection, where it helps.
    mutating func split(_ context: FetchContext, _ step: inout FetchStep) {}
}
