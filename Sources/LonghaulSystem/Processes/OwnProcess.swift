internal import CLonghaul

package enum OwnProcess {
    /// Settings of the whole process that serve transfers: how memory is kept, and no statistics of
    /// SQLite's. For a program of our own, before anything else; an embedder's process is left as
    /// it is.
    package static func tune() {
        lh_process_tune()
    }
}
