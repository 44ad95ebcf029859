// LonghaulStore
import GRDB
