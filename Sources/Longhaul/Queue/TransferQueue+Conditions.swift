public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// The present conditions of the machine, as this process sees them: every source is asked, and
    /// a source that has not answered after `seconds` counts as missing. The overrides of the
    /// environment and of the store come first.
    ///
    /// - Throws: `LonghaulError` `invalidRequest` when `LONGHAUL_CONDITIONS` is not understood;
    ///   `io` when no thread or descriptor is left; `storeUnavailable`.
    public func conditions(within seconds: Double = 2) throws(LonghaulError) -> Conditions {
        try ConditionReader(self).read(within: seconds)
    }

    /// Keeps in the store what `override` says, for every process that uses it; what it does not
    /// speak of stays as it is.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; then nothing was kept.
    public func keepOverride(_ override: ConditionOverride) throws(LonghaulError) {
        try store.settings.keep(override, now: now)
        WakeChannel.poke(directory)
    }

    /// Keeps no override any more. That of the environment goes on.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func clearOverride() throws(LonghaulError) {
        try store.settings.clearOverride()
        WakeChannel.poke(directory)
    }
}
