extension BackgroundSession {
    /// Asks `handler`, for as long as the session is open, whenever one of its transfers waits for
    /// a word: its link has expired, or it is about to begin and the configuration says to ask.
    /// Each need is told once to each process; a handler that throws leaves it as it is. A second
    /// handler takes the place of the first.
    ///
    /// Only transfers of a session with a host wait for a word; without one, those whose link has
    /// expired fail, with their bytes kept.
    public func onInputNeeded(
        _ handler: @escaping @Sendable (InputNeed) async throws -> InputReply
    ) {
        inputs.ask(handler)
    }
}
