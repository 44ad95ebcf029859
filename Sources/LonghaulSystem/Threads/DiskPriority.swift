internal import CLonghaul

/// The calling thread's place among those that use the disk. Schedulers that know none (`none`,
/// `mq-deadline` without priorities) take no notice.
package enum DiskPriority {
    /// Idle: served when nobody else asks; else as the process was started.
    package static func setIdle(_ isIdle: Bool) {
        lh_disk_priority(isIdle ? 1 : 0)
    }
}
