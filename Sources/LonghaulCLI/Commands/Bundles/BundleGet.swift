import Longhaul
import LonghaulPlatform

/// `get SOURCE`: the bundle of that source and directory, until it is whole.
struct BundleGet {
    let source: String
    let files: BundleFileOptions
    let request: RequestOptions
    let limits: EngineLimits
    let defaults: TransferDefaults

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        let queue = try TransferQueue()
        let name = try add(context, in: queue)
        Signals.watch()
        Signals.watchSuspension()
        _ = try queue.bundles.want(name, latest: true)
        var wait = BundleWait(queue, [name], seconds: nil)
        wait.limits = limits
        return try wait.perform(on: console)
    }

    /// Returns its name.
    func add(_ context: InputContext, in queue: TransferQueue) throws -> String {
        if request.place.output != nil {
            throw LonghaulError.usage("-o names one file; for a set of files use -d DIR")
        }
        let template = try request.template(context, defaults)
        var new = try files.bundle(source, template.request, in: queue)
        if template.request.session != TransferRequest.defaultSession || request.owner.host != nil {
            throw LonghaulError.usage("a bundle has its own session; `bundle add --host` binds it")
        }
        new.settings.policy = template.request.isDiscretionary ? .prefetch : .essential
        if request.place.directory != nil { new.directory = template.directory }
        return try queue.bundles.add(new, in: try context.directory.get())
    }
}
