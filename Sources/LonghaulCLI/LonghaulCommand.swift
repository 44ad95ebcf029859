import Longhaul
import ArgumentParser
@main struct LonghaulCommand: ParsableCommand { func run() {} }
