// LonghaulSystem
