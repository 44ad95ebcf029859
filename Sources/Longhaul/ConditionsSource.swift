internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulSystem

/// Where this process gets the machine's conditions from.
enum ConditionsSource {
    /// For an engine: looked at once, and listened to.
    static func port() throws(LonghaulError) -> any ConditionsPort {
        FixedConditions(try current())
    }

    /// For a process that only shows what a transfer waits for.
    static func current() throws(LonghaulError) -> Conditions {
        guard let text = Environment.all()["LONGHAUL_CONDITIONS"], !text.isEmpty else {
            return Conditions()
        }
        guard
            let conditions = Conditions(
                overriding: text, source: "environment", since: SystemClock.now().wall)
        else {
            throw LonghaulError(
                .invalidRequest,
                "LONGHAUL_CONDITIONS: '\(text)' is not understood; it is power=external|battery,"
                    + " battery=0…100, network=unmetered|metered|offline and idle=yes|no, with"
                    + " commas between")
        }
        return conditions
    }
}
